"""Reading tokens one after the other: signs and words, constants, an operator's parameters, and lengths of windows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from types import EllipsisType
from typing import Any, NoReturn

from slidewise.errors import did_you_mean
from slidewise.expressions.constants import Scalar
from slidewise.expressions.tokens import Token, TokenKind, fail_at, tokens_of
from slidewise.expressions.writing import shortened

NAME, QUOTED, WORD, NUMBER = TokenKind.NAME, TokenKind.QUOTED, TokenKind.WORD, TokenKind.NUMBER
TEXT, BYTES, MARK, END = TokenKind.TEXT, TokenKind.BYTES, TokenKind.MARK, TokenKind.END

OPTIONS = ("rows", "closed", "at_least", "grain", "delay", "zone")  # of windows
_CONSTANTS: dict[str, Scalar] = {"null": None, "true": True, "false": False}
_TIMES: dict[str, Callable[[str], date]] = {"timestamp": datetime.fromisoformat, "date": date.fromisoformat}
_LISTS = 20  # how deeply lists of parameters may be nested

_ENDS = (")", "then", "end", "and")  # what ends an expression inside another one
_BEFORE = ("not", "case", "null", "true", "false")  # words that stand before or in the place of a value
BEHIND = ("and", "or", "in", "is", "not", "between", "then", "when", "else", "end", "over", "where", "per", *OPTIONS)


class TokenReader:
    """The tokens of a text, and how far they have been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    def token(self, ahead: int = 0) -> Token:
        """The next token, or one behind it."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def taken(self) -> Token:
        """The next token, which is read."""
        token = self.token()
        self.at += 1
        return token

    def is_next(self, value: str) -> bool:
        """Whether this sign or word of the language is next."""
        token = self.token()
        return token.value == value and token.kind in (MARK, WORD)

    def take(self, value: str) -> bool:
        """Whether this sign or word of the language is next; it is read then."""
        taken = self.is_next(value)
        self.at += taken
        return taken

    def expect(self, value: str, what: str = "") -> None:
        """Read this sign or word of the language; `what` says what is expected there, where it is more than that."""
        if not self.take(value):
            shown = value if value.isalpha() else f"`{value}`"
            shown = f"an operator or {shown}" if value in _ENDS else shown
            self.expected(what or shown, (value, *BEHIND))

    def expected(self, what: str, words: tuple[str, ...] = (), remark: str = "") -> NoReturn:
        """Raise the error of the next token, which is not what is expected; `words` may have been misspelled."""
        token = self.token()
        hint = did_you_mean(token.value, words) if token.kind is NAME else ""
        before = self.tokens[self.at - 1] if self.at else token
        if not hint and before.kind is NAME and token.kind is not END:
            hint = did_you_mean(before.value, _BEFORE)
        self.fail(f"expected {what}, found {token}{hint}{remark}")

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Raise the error of a place, or of the next token."""
        fail_at(self.text, self.token().start if place is None else place, message)

    def literal(self) -> Scalar | EllipsisType:
        """The constant that begins here, with its minus; ... where none begins."""
        token = self.token()
        negative = self.is_next("-")
        number = self.token(1) if negative else token
        if number.kind is NUMBER or (number.kind is WORD and number.value in ("nan", "inf")):
            behind = self.token(1 + negative)
            if negative and behind.kind is MARK and behind.value == "**":  # which binds tighter than the minus
                return ...
            self.at += 1 + negative
            value = self.number(number) if number.kind is NUMBER else float(number.value)
            return -value if negative else value
        if token.kind is TEXT:
            return self.taken().value
        if token.kind is WORD and token.value in _CONSTANTS:
            return _CONSTANTS[self.taken().value]
        if token.kind is NAME and token.value.lower() in _TIMES and self.token(1).kind is TEXT:
            self.at += 2
            text = self.tokens[self.at - 1]
            try:
                return _TIMES[token.value.lower()](text.value)
            except ValueError as error:
                self.fail(f"{token.written} is followed by a text in ISO's format: {error}", text.start)
        return ...

    def number(self, token: Token) -> int | float:
        """The number that a token says."""
        if token.value.isdecimal():
            return int(token.value)
        value = float(token.value)
        if value == float("inf"):
            self.fail(f"the number {shortened(token.value)} is too large for a float; write inf", token.start)
        return value

    def parameters(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """An operator's parameters: those without names first."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        self.expect("(")
        while not self.take(")"):
            if positional or named:
                self.expect(",", "`,` or `)`")
            token = self.token()
            if token.kind is NAME and self.token(1).written == "=":
                if token.value in named:
                    self.fail(f"the parameter {token.value!r} is written twice")
                self.at += 2
                named[token.value] = self.parameter()
            elif named:
                self.expected("a parameter with its name, as the ones before it have, such as q=0.99")
            else:
                positional.append(self.parameter())
        return tuple(positional), named

    def parameter(self, depth: int = 1) -> Any:
        """A parameter's value: a constant, bytes, or a list of such."""
        token = self.token()
        if token.kind is BYTES:
            self.at += 1
            try:
                return bytes.fromhex(token.value)
            except ValueError as error:
                self.fail(f"bytes are written as pairs of hexadecimal digits: {error}", token.start)
        if self.take("["):
            if depth > _LISTS:
                self.fail(f"lists of parameters may be nested {_LISTS} levels deep", token.start)
            members: list[Any] = []
            while not self.take("]"):
                if members:
                    self.expect(",", "`,` or `]`")
                members.append(self.parameter(depth + 1))
            return tuple(members)
        constant = self.literal()
        if isinstance(constant, EllipsisType):
            self.expected("a parameter, which is a constant, such as 0.99 or 'linear'")
        return constant

    def length(self, what: str) -> str | int | float:
        """A duration, or a number."""
        if self.token().kind is not NUMBER:
            self.expected(what, remark="; write it without quotes" if self.token().kind is TEXT else "")
        terms = []
        while self.token().kind is NUMBER and self.token(1).kind is NAME and self.token(1).value.lower() not in OPTIONS:
            terms += [self.taken().value, self.taken().value]
        return " ".join(terms) if terms else self.number(self.taken())

    def whole_number(self, what: str) -> int:
        """The whole number that is next."""
        token = self.token()
        if not token.value.isdecimal() or token.kind is not NUMBER:
            self.expected(f"{what}, such as 10")
        self.at += 1
        return int(token.value)
