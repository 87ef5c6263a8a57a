"""The tokens of an expression's text, and errors that point at a place in it."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, NoReturn

from slidewise.errors import ExpressionError
from slidewise.expressions.writing import WORDS, shortened

LONGEST = 100_000  # characters of a text
_LONGEST_NUMBER = 400  # characters of a number
_SHOWN = 60  # characters of a line that an error shows

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<bytes>[xX]'[^']*')
    |(?P<name>[^\W\d]\w*)
    |(?P<text>'(?:[^']|'')*+')
    |(?P<quoted>`(?:[^`]|``)*+`)
    |(?P<mark>\*\*|//|==|!=|<>|<=|>=|[-+*/%<>=(),\[\]])
    """,
    re.VERBOSE,
)

# What others write, and what to write here.
_HINTS = {
    "'": "the text that begins here has no end; close it with ', and double each ' inside it",
    "`": "the name that begins here has no end; close it with `, and double each ` inside it",
    '"': "texts stand in single quotes, 'DE', and names of columns that are no plain words in backticks, `a b`",
    "&": "write and",
    "|": "write or",
    "~": "write not",
    "!": "write not, or != for unequal",
    "^": "write ** for a power",
    ";": "an expression ends without it",
    ".": "a name that is no plain word stands in backticks: `a.b`",
    "$": "a name that is no plain word stands in backticks: `a$b`",
    "{": "a list of constants stands in parentheses: x in (1, 2)",
}


class TokenKind(Enum):
    """What a token is; the word is for people."""

    NAME = "a name"
    QUOTED = "a name in backticks"
    WORD = "a word of the language"
    NUMBER = "a number"
    TEXT = "a text"
    BYTES = "bytes"
    MARK = "a sign"
    END = "the end of the text"


class Token(NamedTuple):
    """A token: its kind, what it says, where it begins, and how it is written.

    A name in backticks and a text say what is between their quotes, and a word of the language is in small letters.
    """

    kind: TokenKind
    value: str
    start: int
    written: str

    def __str__(self) -> str:
        if self.kind is TokenKind.END:
            return str(self.kind.value)
        return f"`{shortened(self.written)}`" if "`" not in self.written else shortened(self.written)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, and behind them its end."""
    if len(text) > LONGEST:
        raise ExpressionError(
            f"an expression has at most {LONGEST:,} characters, and this one has {len(text):,}; make columns of its "
            "parts first"
        )
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            _refuse(text, at)
        if match.lastgroup != "space":
            tokens.append(_token(text, str(match.lastgroup), match.group(), at))
        at = match.end()
    tokens.append(Token(TokenKind.END, "", len(text.rstrip()), ""))
    return tokens


def _token(text: str, group: str, written: str, at: int) -> Token:
    if group == "name":
        word = written.lower()
        if word in WORDS and written.isascii():
            return Token(TokenKind.WORD, word, at, written)
        return Token(TokenKind.NAME, written, at, written)
    if group == "quoted":
        name = written[1:-1].replace("``", "`")
        if not name:
            fail_at(text, at, "a name in backticks has at least one character")
        return Token(TokenKind.QUOTED, name, at, written)
    if group == "text":
        return Token(TokenKind.TEXT, written[1:-1].replace("''", "'"), at, written)
    if group == "bytes":
        return Token(TokenKind.BYTES, written[2:-1], at, written)
    if group == "number":
        if text.startswith("_", at + len(written)):
            fail_at(text, at, "a number is written without _ between its digits")
        if len(written) > _LONGEST_NUMBER:
            fail_at(text, at, f"a number has at most {_LONGEST_NUMBER} characters, and this one has {len(written):,}")
        return Token(TokenKind.NUMBER, written, at, written)
    return Token(TokenKind.MARK, {"=": "==", "<>": "!="}.get(written, written), at, written)


def _refuse(text: str, at: int) -> NoReturn:
    character = text[at]
    hint = _HINTS.get(character)
    if character in "'`":
        fail_at(text, at, str(hint))
    fail_at(text, at, f"found {character!r}, which no expression has" + (f"; {hint}" if hint else ""))


def fail_at(text: str, place: int, message: str) -> NoReturn:
    """Raise the error of a place in a text: what is wrong, the line and the column, and a caret below them."""
    raise ExpressionError(f"{message}\n{pointed_at(text, place)}")


def pointed_at(text: str, place: int) -> str:
    """The line and the column of a place, the characters around it, and a caret under it.

    >>> pointed_at("price * quantty", 8).splitlines()
    ['  at line 1, column 9:', '    price * quantty', '            ^']
    """
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line, column = text[begin : len(text) if end < 0 else end], place - begin
    first = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    shown = "".join(character if character.isprintable() else " " for character in line[first : first + _SHOWN])
    before = "..." if first else ""
    after = "..." if first + _SHOWN < len(line) else ""
    caret = " " * (len(before) + column - first) + "^"
    number = text.count("\n", 0, place) + 1
    return f"  at line {number}, column {column + 1}:\n    {before}{shown}{after}\n    {caret}"
