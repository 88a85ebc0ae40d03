"""Primary values: literals, variables, properties, lists and search functions."""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.language.gq.ast import (
    Aggregate,
    AggregateFunc,
    AliasRef,
    Expr,
    ListLiteral,
    Literal,
    Now,
    PropertyAccess,
    PropertyName,
    TextCall,
    TextFunc,
    Variable,
)
from omnigraph.language.gq.functions import FUNCTIONS
from omnigraph.language.gq.literals import LiteralParser
from omnigraph.language.gq.problems import SyntaxProblem
from omnigraph.language.lexer import TokenKind
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from omnigraph.language.gq.cursor import Unparsed

__all__ = ["AGGREGATES", "TEXT_FUNCTIONS", "OperandContext", "ValueParser"]

AGGREGATES = {func.value: func for func in AggregateFunc}
TEXT_FUNCTIONS = {func.value: func for func in TextFunc}
_RANKINGS = (TextFunc.NEAREST, TextFunc.BM25)
# The functions that take a number after their two arguments, and its name.
_OPTION_NAMES = {TextFunc.FUZZY: "edits", TextFunc.RRF: "k"}
_FUNCTIONS = (
    *TEXT_FUNCTIONS,
    *AGGREGATES,
    *("now", "date", "datetime", "duration", "cast", "try_cast", "any", "all", "none"),
    *FUNCTIONS,
)
_SHOWN_FUNCTIONS = 24
# The words that begin a value: one that is the same in every row, and one in a condition.
_CONSTANTS = ("now", "date", "datetime", "true", "false")
_OPENINGS = ("exists", "not", *_FUNCTIONS, "true", "false")


class OperandContext(StrEnum):
    """Where an operand stands: this decides what a bare word means and which calls fit."""

    MATCH = "match"
    RESULT = "return"
    # The value of an inline filter, after which a name follows, never a traversal.
    FILTER = "filter"
    WHERE = "where"
    # An assigned value of an update: bare words are properties of the entity.
    SET = "set"
    VALUE = "value"


class ValueParser(LiteralParser):
    """Reads values that contain no operators of their own."""

    # The variable of the entity that an update or delete changes.
    entity_variable: str | None = None

    @abstractmethod
    def condition(self, place: OperandContext, floor: int = 0) -> Expr:
        """Any expression."""

    @abstractmethod
    def function(self, place: OperandContext) -> Expr:
        """A call of a function that has no syntax of its own."""

    @abstractmethod
    def aggregate(self, func: AggregateFunc, place: OperandContext) -> Aggregate:
        """An aggregate over rows of the result."""

    @abstractmethod
    def begins_case(self) -> bool:
        """Whether the word ``case`` begins an expression."""

    @abstractmethod
    def case(self, place: OperandContext) -> Expr:
        """``case … end``."""

    @abstractmethod
    def parenthesised(self, place: OperandContext) -> Expr:
        """``( … )``."""

    @abstractmethod
    def list_items(self, place: OperandContext) -> tuple[Expr, ...]:
        """The items of a list."""

    def primary(self, place: OperandContext) -> Expr:
        """A value without operators."""
        checkpoint()
        match self.token.kind:
            case TokenKind.VARIABLE:
                return self._variable_or_property(place)
            case TokenKind.IDENT:
                return self._word(place)
            case TokenKind.STRING:
                token = self.advance()
                return Literal(token.value, token.span)
            case TokenKind.INT:
                return self.integer_literal()
            case TokenKind.FLOAT:
                return self.float_literal()
            case _:
                return self._punctuated(place)

    def _punctuated(self, place: OperandContext) -> Expr:
        match self.token.text:
            case "-":
                return self.negative_literal()
            case "[":
                return self._list(place)
            case "(":
                return self.parenthesised(place)
            case "$":
                raise self.bad_variable()
            case _:
                raise self.unexpected(
                    "a value", "a value is a literal, a variable, a property or a function"
                )

    # --- variables and words -------------------------------------------------------------------

    def _variable_or_property(self, place: OperandContext) -> Expr:
        name = self.variable_name()
        if self.token.text != ".":
            return Variable(name.text[1:], name.span)
        if place in (OperandContext.WHERE, OperandContext.SET) and (
            name.text[1:] != self.entity_variable
        ):
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`where` tests the changed type and knows no `{name.text}`",
                at=name,
                remedy="write the property alone: `where name = $name`, or name the entity: "
                "`update Type as $x …`, `delete Type as $x …`",
            )
        if place is OperandContext.VALUE:
            raise self.error(
                SyntaxProblem.MISPLACED,
                "a value here is a literal, a parameter or `now()`, not a property",
                at=name,
                remedy="pass the value as a parameter; to compare two properties write a clause: "
                "`$a.p = $b.q`",
            )
        self.advance()
        prop = self.expect_kind(
            TokenKind.IDENT, "a property name", "property names start lower case"
        )
        return PropertyAccess(name.text[1:], prop.text, self.span_from(name), name.span, prop.span)

    def _word(self, place: OperandContext) -> Expr:
        token = self.token
        # Before the call: the next clause may begin with a parenthesis.
        if token.text in ("true", "false"):
            self.advance()
            return Literal(token.text == "true", token.span)
        following = self.ahead().text
        if following == "(":
            return self._call(place)
        if token.text == "null":
            raise self.error(
                SyntaxProblem.NULL_VALUE,
                "`null` is not equal to anything, not even to itself",
                remedy="test with `is null` or `is not null`; assign `null` in `insert` and `set`",
            )
        if token.text == "case" and self.begins_case():
            return self.case(place)
        return self._bare_word(place)

    def _bare_word(self, place: OperandContext) -> Expr:
        word = self.token.text
        if place is OperandContext.RESULT and word != "as":
            return AliasRef(word, self.advance().span)
        if place in (OperandContext.WHERE, OperandContext.SET):
            return PropertyName(word, self.advance().span)
        other = (
            f"`${word}` for a parameter"
            if place is OperandContext.VALUE
            else f"`$x.{word}` for a property"
        )
        raise self.error(
            SyntaxProblem.UNKNOWN_WORD,
            f"`{word}` is not a value",
            remedy=self.suggest(_CONSTANTS if place is OperandContext.VALUE else _OPENINGS)
            or f'write {other}, `"{word}"` for a string',
        )

    def _list(self, place: OperandContext) -> ListLiteral:
        opening = self.advance()
        items = self.list_items(place)
        self.expect("]", "items of a list are separated by commas")
        return ListLiteral(items, self.span_from(opening))

    # --- calls ---------------------------------------------------------------------------------

    def _call(self, place: OperandContext) -> Expr:
        name = self.token.text
        if func := TEXT_FUNCTIONS.get(name):
            return self._text_call(func, place)
        if aggregate := AGGREGATES.get(name):
            return self.aggregate(aggregate, place)
        match name:
            case "now":
                start = self.advance()
                self.advance()
                self.expect(")", "`now()` takes no argument")
                return Now(self.span_from(start))
            case "date":
                return self.date_literal()
            case "datetime":
                return self.datetime_literal()
            case "duration":
                return self.duration_literal()
            case _:
                return self.function(place)

    def unknown_function(self) -> Unparsed:
        """The current word is called, and no function has the name."""
        shown = ", ".join(_FUNCTIONS[:_SHOWN_FUNCTIONS])
        return self.error(
            SyntaxProblem.UNKNOWN_WORD,
            f"there is no function `{self.token.text}`",
            remedy=self.suggest(_FUNCTIONS) or f"the functions are {shown} and others",
        )

    def _text_call(self, func: TextFunc, place: OperandContext) -> TextCall:
        start = self.advance()
        self.advance()
        if place is OperandContext.VALUE:
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`{func}` cannot be used as a value here",
                at=start,
                remedy="write it as a clause of `match`, or in `return` or `order`",
            )
        read = self._ranking if func is TextFunc.RRF else self._text_target
        args: list[Expr] = [read(func, place)]
        self.expect(",", f"`{func}` takes two arguments")
        args.append(self._ranking(func, place) if func is TextFunc.RRF else self._text_query(place))
        if self.accept(","):
            args.append(self._option(func))
        self.expect(")")
        return TextCall(func, tuple(args), self.span_from(start))

    def _text_target(self, func: TextFunc, place: OperandContext) -> Expr:
        start = self.token
        target = self.primary(place)
        if not isinstance(target, PropertyAccess | PropertyName):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` looks into a property",
                at=self.span_from(start),
                remedy=f"write `{func}($x.property, …)`",
            )
        return target

    def _text_query(self, place: OperandContext) -> Expr:
        return self.condition(place)

    def _ranking(self, func: TextFunc, place: OperandContext) -> Expr:
        ranking = TEXT_FUNCTIONS.get(self.token.text)
        if ranking not in _RANKINGS or self.ahead().text != "(":
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` fuses two rankings, and this is none",
                remedy="write `rrf(nearest($x.vector, $q), bm25($x.text, $q))`",
            )
        return self._text_call(ranking, place)

    def _option(self, func: TextFunc) -> Expr:
        name = _OPTION_NAMES.get(func)
        if name is None:
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` takes two arguments",
                remedy="remove the third one",
            )
        if self.ahead().text == "=":
            if self.token.text != name:
                raise self.error(
                    SyntaxProblem.ARGUMENTS,
                    f"`{func}` has no argument named {self.described()}",
                    remedy=f"write `{name}=…`",
                )
            self.advance()
            self.advance()
        start = self.token
        option = self.primary(OperandContext.VALUE)
        if not isinstance(option, Literal | Variable):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{name}` is a number or a parameter",
                at=self.span_from(start),
                remedy=f"write `{name}=2`, for example",
            )
        return option
