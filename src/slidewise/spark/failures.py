"""The reason why a Spark job failed, in a sentence: that of the Python error, or Spark's own, without pages of Java."""

from __future__ import annotations

import re

# The last line of a traceback: the error's class, and what it says, which may go on over more lines.
_PYTHON = re.compile(r"^(?P<kind>[\w.]+(?:Error|Exception|Warning|Interrupt|Exit))(?:: (?P<message>.*))?\Z", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE: \w+.*\Z", re.DOTALL)
_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_JAVA = re.compile(r"^(?:: |Caused by: )?[\w.$]+(?:Exception|Error): (?P<message>.+)$", re.MULTILINE)


def reason(error: BaseException) -> str:
    """The message of a Spark error, in as few words as there are.

    An error of a worker's Python is the last entry of a traceback inside a text of Spark's; Slidewise's own come
    without the name of their class, others with it.

    >>> reason(ValueError("the window is empty"))
    'the window is empty'
    """
    text = str(error).strip()
    if "Traceback (most recent call last)" in text:
        return _of_traceback(text)
    if type(error).__module__.startswith("py4j."):
        java = _JAVA.search(text)
        text = java["message"] if java else text
    if _CONDITION.match(text):
        text = _STATE.sub("", _CONDITION.sub("", text))
    return text.partition("\n\tat ")[0].strip() or type(error).__name__


def _of_traceback(text: str) -> str:
    """The error that the last traceback of the text ends with."""
    last = _STATE.sub("", text.rpartition("Traceback (most recent call last)")[2])
    lines = last.partition("\n\tat ")[0].rstrip().splitlines()
    # Entries of a traceback are indented, its last one is not; what an error says may have lines of any kind.
    for at, line in enumerate(lines[1:], 1):
        if not line.startswith(" ") and (entry := _PYTHON.match("\n".join(lines[at:]).strip())):
            kind, message = entry["kind"], (entry["message"] or "").strip()
            if not message:
                return kind
            return message if kind.startswith("slidewise.") else f"{kind.rpartition('.')[2]}: {message}"
    return lines[-1].strip() if lines else text
