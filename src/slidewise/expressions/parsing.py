"""Expressions from text: the way back from `writing`. Text is data, and nothing of it is run.

    expression = column | constant | "(" expression ")" | sign | function | case | aggregate

    column     = amount | `price in €`               in backticks unless it is a plain word; a ` inside is doubled
    constant   = 1 | 1.5 | .5 | 1e3 | 'DE' | true | false | null | nan | inf
               | timestamp '2024-01-01T00:00:00+00:00' | date '2024-01-01'       a ' inside a text is doubled
    sign       = those below, from the loosest to the tightest; those in one line go from left to right

                 or
                 and
                 not x
                 == != < <= > >=   x is [not] null   x [not] in (1, 2)   x [not] between low and high   not chained
                 + -
                 * / // %
                 -x                                  a part of the number, where a number follows
                 **                                  from right to left; -2 ** 2 is -(2 ** 2), and 2 ** -2 is fine

    function   = abs(x) sqrt(x) log(x) exp(x) floor(x) ceil(x) round(x [, digits]) sign(x) coalesce(x, ...)
               | int(x) float(x) text(x) length(x) lower(x) upper(x) contains(x, 'a') starts_with(x, 'a')
               | hour(x [, zone]) weekday(x [, zone]) day(x [, zone])
    case       = case when condition then x [when condition then x ...] [else x] end     without else: else null
    aggregate  = operator "(" [expression, ...] ")" [per expression [top 10 [rest 'other']]] [where condition]
                 over window option ...
    operator   = sum | quantile(0.99) | quantile(q=0.99) | `package.module:name`         a user's own in backticks
    window     = all | 100 rows | 7 days | 1h 30m | 1 month | next 1 hour | 3600          a number where times are
               | gap 30 minutes | since login | since (kind == 'login')                  begins anew, see docs/guide.md
               | this hour | this day | this week | this month | this quarter | this year | this iso year
    option     = rows 100 | closed left | at_least 10 | grain 1 hour | delay 1 day | zone 'Europe/Berlin'

`=` is `==` and `<>` is `!=`. Words of the language, functions and built-in operators may be written in capital letters.
An operator's parameters are constants, bytes such as x'00ff', and lists of them in brackets. What an operator is, the
caller says: `parse` hands over what was written, and gets the aggregate to which it adds the condition and the window.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from types import EllipsisType
from typing import Any, NamedTuple, Protocol

from slidewise.errors import ExpressionError, SlidewiseError, did_you_mean
from slidewise.expressions.constants import Scalar
from slidewise.expressions.expression import MAX_DEPTH, Call, Constant, Expression, RowColumn, leaves_of
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.kinds import UNKNOWN, ValueKind
from slidewise.expressions.token_reader import (
    BEHIND,
    BYTES,
    END,
    MARK,
    NAME,
    NUMBER,
    OPTIONS,
    QUOTED,
    TEXT,
    WORD,
    TokenReader,
)
from slidewise.expressions.tokens import Token
from slidewise.expressions.type_inference import ArgumentError, kind_of_call, kind_of_constant
from slidewise.expressions.writing import BINARY, COMPARISON, NOT, POWER, SIGN, WORDS

FUNCTIONS = frozenset(name for name in BY_NAME if name.isidentifier() and name not in WORDS) - {"neg"}
_NESTED = 2 * MAX_DEPTH + 10  # a call is written in at most two levels: its sign, and parentheses


_TIGHTEST = max(*BINARY.values(), POWER, SIGN) + 1  # no sign binds so tightly: one value, or parentheses


class OperatorCall(NamedTuple):
    """An operator with its parameters and arguments, as it was written; `own` is a user's, by its import path."""

    name: str
    own: bool
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    arguments: tuple[Expression, ...]


class Windowless(Protocol):
    """An aggregate that has no window yet."""

    def per(self, category: Expression, /, *, top: int | None = None, rest: Any = "other") -> Windowless: ...

    def where(self, condition: Expression, /) -> Windowless: ...

    def over(
        self,
        last: Any = None,
        *,
        rows: int | None = None,
        closed: str = "right",
        at_least: int | None = None,
        grain: Any = None,
        delay: Any = None,
        zone: Any = None,
        next: Any = None,
        gap: Any = None,
        since: Any = None,
    ) -> Expression: ...


MakeAggregate = Callable[[OperatorCall], Windowless]


def parse(text: str, aggregate: MakeAggregate | None = None) -> Expression:
    """The expression that a text says; `aggregate` makes the aggregates in it, and without it there are none.

    >>> parse("-x ** 2 >= .5 AND country NOT IN ('DE', 'FR')")
    ((-(sw.col('x') ** 2)) >= 0.5) & (~sw.col('country').is_in(['DE', 'FR']))
    """
    if not isinstance(text, str):
        raise ExpressionError(f"an expression is text here, such as 'price * quantity', not {text!r}")
    return _ExpressionParser(text, aggregate).run()


class _Parsed(NamedTuple):
    """A part that has been read: the expression, the kind of its values, and where it begins."""

    expression: Expression
    kind: ValueKind
    start: int


# A rule yields how tightly the expression must bind that it needs next, and is sent that expression.
_Rule = Generator[int, _Parsed, _Parsed]
_ListRule = Generator[int, _Parsed, list[_Parsed]]


class _ExpressionParser(TokenReader):
    """A parser by precedence. Rules wait on a stack of their own and not on Python's, however deeply they nest."""

    def __init__(self, text: str, aggregate: MakeAggregate | None) -> None:
        super().__init__(text)
        self.aggregate = aggregate
        self.closing = _closing_parentheses(self.tokens)

    def run(self) -> Expression:
        """The expression of the whole text."""
        rules = [self._expression(0)]
        parsed: _Parsed | None = None
        while rules:
            try:
                least = next(rules[-1]) if parsed is None else rules[-1].send(parsed)
            except StopIteration as done:
                parsed = done.value
                rules.pop()
                continue
            if len(rules) > _NESTED:
                self.fail(f"an expression may be nested {MAX_DEPTH} levels deep, and this one is deeper")
            rules.append(self._expression(least))
            parsed = None
        if self.token().kind is not END:
            if self.token().value == "where" and self.token().kind is WORD:
                self.fail("where stands before over: count() where ok over 1 hour")
            self.expected("an operator, such as + or and, or the end of the text", BEHIND)
        assert parsed is not None
        return parsed.expression

    def _expression(self, least: int) -> _Rule:
        """An expression whose signs bind at least so tightly."""
        left = yield from self._operand(least)
        compared = False
        while True:
            token = self.token()
            binds = _binding(token)
            if binds < least or not binds:
                return left
            if binds == COMPARISON:
                if compared:
                    self.fail("comparisons are not chained; write a < b and b < c, or b between a and c")
                left = yield from self._comparison(left)
                compared = True
                continue
            self.at += 1
            right = yield SIGN if binds == POWER else binds + 1
            left = self._call(token.value, token.start, left, right)

    def _comparison(self, left: _Parsed) -> _Rule:
        token = self.taken()
        start, negated = token.start, token.value == "not"
        if negated:
            token = self.taken()
        if token.value == "is":
            negated = self.take("not")
            self.expect("null")
            made = self._call("is null", start, left)
        elif token.value == "in":
            members = yield from self._arguments()
            made = self._call("in", start, left, *members)
        elif token.value == "between":
            low = yield COMPARISON + 1
            self.expect("and")
            high = yield COMPARISON + 1
            made = self._call("between", start, left, low, high)
        elif negated:
            self.at -= 1
            self.expected("in or between behind not", ("in", "between"))
        else:
            right = yield COMPARISON + 1
            made = self._call(token.value, start, left, right)
        return self._call("not", start, made) if negated else made

    def _operand(self, least: int) -> _Rule:
        """What stands before, between and behind signs."""
        token = self.token()
        constant = self.literal()
        if not isinstance(constant, EllipsisType):
            return self._constant(constant, token.start)
        self.at += 1
        if token.kind in (NAME, QUOTED):
            if not self.is_next("("):
                return _Parsed(RowColumn(token.value), UNKNOWN, token.start)
            if token.kind is NAME and token.value.lower() in FUNCTIONS:
                return (yield from self._function(token))
            return (yield from self._aggregate(token))
        if token.kind in (MARK, WORD):
            if token.value == "(":
                inner = yield 0
                self.expect(")")
                return inner
            if token.value == "-":
                return self._call("neg", token.start, (yield SIGN))
            if token.value == "not" and least <= NOT:
                return self._call("not", token.start, (yield NOT))
            if token.value == "case":
                return (yield from self._case(token))
        self.at -= 1
        if token.value == "not" and token.kind is WORD:
            self.fail("not binds less than what stands before it; put it into parentheses: (not ...)")
        if token.kind is BYTES:
            self.fail("bytes stand among an operator's parameters only")
        if token.kind is WORD:
            self.expected("a value", remark=f"; a column of that name stands in backticks: `{token.written}`")
        self.expected("a value: a column, a constant, a function or an aggregate")

    def _function(self, token: Token) -> _Rule:
        name = token.value.lower()
        arguments = yield from self._arguments()
        if name == "round" and len(arguments) == 1:
            arguments.append(self._constant(0, token.start))
        return self._call(name, token.start, *arguments)

    def _case(self, token: Token) -> _Rule:
        parts = []
        self.expect("when")
        while True:
            parts.append((yield 0))
            self.expect("then")
            parts.append((yield 0))
            if not self.take("when"):
                break
        if self.take("else"):
            parts.append((yield 0))
        else:
            parts.append(self._constant(None, token.start))
        self.expect("end")
        return self._call("case", token.start, *parts)

    def _arguments(self) -> _ListRule:
        """Expressions between parentheses."""
        arguments: list[_Parsed] = []
        self.expect("(")
        while not self.take(")"):
            if arguments:
                self.expect(",", "an operator, `,` or `)`")
            if not arguments and self.is_next("*"):
                self.fail("`*` stands between two values; rows are counted by count()")
            arguments.append((yield 0))
        return arguments

    def _aggregate(self, token: Token) -> _Rule:
        positional, named = self.parameters() if self._has_parameters() else ((), {})
        arguments = yield from self._arguments()
        expressions = tuple([argument.expression for argument in arguments])
        if self.aggregate is None:
            hint = did_you_mean(token.value, FUNCTIONS)
            self.fail(f"there is no function {token.value!r}, and aggregates do not stand here{hint}", token.start)
        try:
            made = self.aggregate(OperatorCall(token.value, token.kind is QUOTED, positional, named, expressions))
        except SlidewiseError as error:
            inner = [part for part in arguments if any(leaf.is_aggregate for leaf in leaves_of(part.expression))]
            self.fail(str(error), inner[0].start if inner else token.start)
        if self._take_name("per"):
            category = yield 0
            made = self._per(made, category)
        if self.take("where"):
            condition = yield 0
            try:
                made = made.where(condition.expression)
            except SlidewiseError as error:
                self.fail(str(error), condition.start)
        if not self.take("over"):
            self.expected(
                f"over, since the aggregate {token} needs a window, such as over 10 minutes, over 100 rows or over all",
                ("over", "where", "per"),
            )
        places = {"": self.token().start}
        window: dict[str, Any] = {}
        if self._is_word("since"):
            self.at += 1
            window["since"] = (yield _TIGHTEST).expression
        return _Parsed(self._over(made, places, window), UNKNOWN, token.start)

    def _take_name(self, name: str) -> bool:
        """Whether this name, which is no word of the language elsewhere, is next; it is read then."""
        taken = self.token().kind is NAME and self.token().value.lower() == name
        self.at += taken
        return taken

    def _per(self, made: Windowless, category: _Parsed) -> Windowless:
        """The aggregate per category, with its options in this order."""
        options: dict[str, Any] = {}
        if self._take_name("top"):
            options["top"] = self.whole_number("a number of categories")
        if self._take_name("rest"):
            options["rest"] = self.parameter()
        try:
            return made.per(category.expression, **options)
        except SlidewiseError as error:
            self.fail(str(error), category.start)

    def _over(self, made: Windowless, places: dict[str, int], window: dict[str, Any]) -> Expression:
        """The aggregate over the window that stands here, with its options in any order."""
        if "since" in window:
            pass
        elif self._is_word("all"):
            window["last"] = self.taken().value.lower()
        elif self.token().kind is NAME and self.token().value.lower() == "next":
            self.at += 1
            window["next"] = self.length("a length, such as 1 hour, or a number where times are numbers")
        elif self._is_word("gap"):
            self.at += 1
            window["gap"] = self.length("a gap, such as 30 minutes, or a number where times are numbers")
        elif self._is_word("this"):
            words = [self.taken().value.lower()]
            while self.token().kind is NAME and self.token().value.lower() not in OPTIONS and len(words) < 3:
                words.append(self.taken().value.lower())
            window["last"] = " ".join(words)
        elif self._is_rows():
            window["rows"] = self.whole_number("a number of rows")
            self.at += 1
        else:
            window["last"] = self.length(
                "a window: all, 100 rows, 10 minutes, gap 30 minutes, since login, this day, or a number where times "
                "are numbers"
            )
        while self.token().kind is NAME and (option := self.token().value.lower()) in OPTIONS:
            if option in window:
                self.fail(f"{option} is written twice")
            places[option] = self.taken().start
            if option == "closed":
                if self.token().kind is not NAME:
                    self.expected("left, right, both or neither")
                window[option] = self.taken().value.lower()
            elif option in ("rows", "at_least"):
                window[option] = self.whole_number("a number of rows")
            elif option == "zone":
                if self.token().kind is not TEXT:
                    self.expected("a zone between quotes, such as 'Europe/Berlin'")
                window[option] = self.taken().value
            else:
                window[option] = self.length("a length, such as 1 minute, or a number where times are numbers")
        try:
            return made.over(**window)
        except SlidewiseError as error:
            option = next((option for option in OPTIONS if option in places and option in str(error)), "")
            self.fail(str(error), places[option])

    def _is_word(self, word: str) -> bool:
        """Whether this word of windows is next, which is no word of the language elsewhere."""
        return self.token().kind is NAME and self.token().value.lower() == word

    def _is_rows(self) -> bool:
        """Whether a number of rows stands here; `5 rows 2` is the number 5, where times are numbers, and an option."""
        unit = self.token(1)
        is_option = self.token(2).kind is NUMBER
        return self.token().kind is NUMBER and unit.kind is NAME and unit.value.lower() == "rows" and not is_option

    def _has_parameters(self) -> bool:
        """Whether a second pair of parentheses follows the one that begins here: the first holds parameters."""
        closing = self.closing.get(self.at)
        return closing is not None and self.tokens[closing + 1].value == "(" and self.tokens[closing + 1].kind is MARK

    def _constant(self, value: Scalar, start: int) -> _Parsed:
        try:
            constant = Constant(value)
        except ExpressionError as error:
            self.fail(str(error), start)
        return _Parsed(constant, kind_of_constant(constant), start)

    def _call(self, function: str, place: int, *parts: _Parsed) -> _Parsed:
        """A function of parts whose kinds it takes; `place` is where its name or its sign stands."""
        try:
            made = Call(function, tuple([part.expression for part in parts]))
            kind = kind_of_call(made, [part.kind for part in parts])
        except ArgumentError as error:
            self.fail(error.reason, place if error.argument is None else parts[error.argument].start)
        except ExpressionError as error:
            self.fail(str(error), place)
        return _Parsed(made, kind, min(place, parts[0].start) if parts else place)


def _closing_parentheses(tokens: list[Token]) -> dict[int, int]:
    """By the number of each opening parenthesis, that of the one which closes it."""
    closing, opened = {}, []
    for number, token in enumerate(tokens):
        if token.kind is MARK and token.value == "(":
            opened.append(number)
        elif token.kind is MARK and token.value == ")" and opened:
            closing[opened.pop()] = number
    return closing


def _binding(token: Token) -> int:
    """How tightly a sign between two values binds; 0 for what is none."""
    if token.kind is WORD and token.value in ("is", "in", "between", "not"):
        return COMPARISON
    return BINARY.get(token.value, 0) if token.kind in (MARK, WORD) else 0
