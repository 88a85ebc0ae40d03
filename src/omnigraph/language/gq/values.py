"""Operands: literals, variables, properties, functions and aggregates."""

from __future__ import annotations

from enum import StrEnum

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
from omnigraph.language.gq.literals import LiteralParser
from omnigraph.language.gq.problems import MAX_LIST_ITEMS, SyntaxProblem
from omnigraph.language.lexer import TokenKind
from omnigraph.runtime.cancellation import checkpoint

__all__ = ["AGGREGATES", "TEXT_FUNCTIONS", "OperandContext", "ValueParser"]

AGGREGATES = {func.value: func for func in AggregateFunc}
TEXT_FUNCTIONS = {func.value: func for func in TextFunc}
_RANKINGS = (TextFunc.NEAREST, TextFunc.BM25)
# The functions that take a number after their two arguments, and its name.
_OPTION_NAMES = {TextFunc.FUZZY: "edits", TextFunc.RRF: "k"}
_FUNCTIONS = (*TEXT_FUNCTIONS, *AGGREGATES, "now", "date", "datetime")
# The words that begin a value: one that is the same in every row, and one in a condition.
_CONSTANTS = ("now", "date", "datetime", "true", "false")
_OPENINGS = ("exists", "not", *_FUNCTIONS, "true", "false")


class OperandContext(StrEnum):
    """Where an operand stands: this decides what a bare word means and which calls fit."""

    MATCH = "match"
    RESULT = "return"
    WHERE = "where"
    VALUE = "value"


class ValueParser(LiteralParser):
    """Reads everything that has a value."""

    def operand(self, place: OperandContext) -> Expr:
        """One operand of a comparison, one result column, or one assigned value."""
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
                return self._punctuated()

    def _punctuated(self) -> Expr:
        match self.token.text:
            case "-":
                return self.negative_literal()
            case "[":
                return self._list()
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
        if place is OperandContext.WHERE:
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`where` tests the changed type and knows no `{name.text}`",
                at=name,
                remedy="write the property alone: `where name = $name`",
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
        if following == "{" and place is OperandContext.RESULT:
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`{token.text} {{ … }}` stands in `match`, not in `return` or `order`",
                remedy="fold over the result with `count(…)`, or filter with the block in `match`",
            )
        return self._bare_word(place)

    def _bare_word(self, place: OperandContext) -> Expr:
        word = self.token.text
        if place is OperandContext.RESULT and word != "as":
            return AliasRef(word, self.advance().span)
        if place is OperandContext.WHERE:
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

    def _list(self) -> ListLiteral:
        opening = self.advance()
        items: list[Expr] = []
        while self.token.text != "]":
            if self.token.text == "[":
                raise self.error(
                    SyntaxProblem.UNEXPECTED,
                    "lists do not nest",
                    remedy="write one flat list: `[1, 2]`",
                )
            self.require_at_most(len(items) + 1, MAX_LIST_ITEMS, "items in a list")
            items.append(self._list_item())
            if not self.accept(","):
                break
        self.expect("]", "items of a list are separated by commas")
        return ListLiteral(tuple(items), self.span_from(opening))

    def _list_item(self) -> Expr:
        start = self.token
        item = self.operand(OperandContext.VALUE)
        if not isinstance(item, Literal | Variable):
            raise self.error(
                SyntaxProblem.MISPLACED,
                "items of a list are literals and parameters",
                at=self.span_from(start),
                remedy="pass the value as a parameter",
            )
        return item

    # --- calls ---------------------------------------------------------------------------------

    def _call(self, place: OperandContext) -> Expr:
        name = self.token.text
        if func := TEXT_FUNCTIONS.get(name):
            return self._text_call(func, place)
        if aggregate := AGGREGATES.get(name):
            return self._aggregate(aggregate, place)
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
            case _:
                raise self.error(
                    SyntaxProblem.UNKNOWN_WORD,
                    f"there is no function `{name}`",
                    remedy=self.suggest(_FUNCTIONS) or f"the functions are {', '.join(_FUNCTIONS)}",
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
        target = self.operand(place)
        if not isinstance(target, PropertyAccess | PropertyName):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` looks into a property",
                at=self.span_from(start),
                remedy=f"write `{func}($x.property, …)`",
            )
        return target

    def _text_query(self, place: OperandContext) -> Expr:
        start = self.token
        query = self.operand(place)
        if not isinstance(query, Literal | ListLiteral | Variable | PropertyAccess):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                "what is searched for is a literal, a parameter or a property",
                at=self.span_from(start),
                remedy="pass it as a parameter",
            )
        return query

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
        option = self.operand(OperandContext.VALUE)
        if not isinstance(option, Literal | Variable):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{name}` is a number or a parameter",
                at=self.span_from(start),
                remedy=f"write `{name}=2`, for example",
            )
        return option

    def _aggregate(self, func: AggregateFunc, place: OperandContext) -> Aggregate:
        start = self.advance()
        if place is not OperandContext.RESULT:
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`{func}(…)` folds the result and stands in `return` or `order`",
                at=start,
                remedy=f"fold over a pattern with `{func} {{ … }}`",
            )
        self.advance()
        if func is AggregateFunc.COUNT and self.accept("*"):
            self.expect(")")
            return Aggregate(func, None, distinct=False, span=self.span_from(start))
        distinct = self.accept("distinct")
        operand_start = self.token
        operand = self.operand(place)
        if not isinstance(operand, Variable | PropertyAccess):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` folds a variable or a property",
                at=self.span_from(operand_start),
                remedy=f"write `{func}($x.property)`"
                + (", or `count(*)` for rows" if func is AggregateFunc.COUNT else ""),
            )
        self.expect(")")
        return Aggregate(func, operand, distinct=distinct, span=self.span_from(start))
