"""Arithmetic, calls, casts, ``case``, indexes and quantifiers.

From loose to tight: ``or``, ``and``, ``not``, comparisons, ``||``, ``+ -``, ``* / %``, unary ``-``,
``[…]``. Clauses and columns need no separators, so a ``-`` or ``[`` that begins a line outside of
parentheses begins a new one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import ListType, Scalar, ScalarType
from omnigraph.language.gq.ast import (
    Aggregate,
    AggregateFunc,
    Arithmetic,
    ArithmeticOp,
    Case,
    Cast,
    Expr,
    FunctionCall,
    Index,
    Negation,
    Quantifier,
    QuantifierKind,
    Slice,
)
from omnigraph.language.gq.functions import FUNCTIONS
from omnigraph.language.gq.problems import (
    MAX_ARGUMENTS,
    MAX_CONDITIONS,
    MAX_LIST_ITEMS,
    SyntaxProblem,
)
from omnigraph.language.gq.values import AGGREGATES, OperandContext, ValueParser
from omnigraph.language.lexer import TokenKind

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.lexer import Token
    from omnigraph.language.source import Source

__all__ = ["SCALARS", "ExpressionParser"]

_LEVELS: tuple[dict[str, ArithmeticOp], ...] = (
    {"||": ArithmeticOp.CONCATENATE},
    {"+": ArithmeticOp.ADD, "-": ArithmeticOp.SUBTRACT},
    {"*": ArithmeticOp.MULTIPLY, "/": ArithmeticOp.DIVIDE, "%": ArithmeticOp.MODULO},
)
_QUANTIFIERS = {kind.value: kind for kind in QuantifierKind}
SCALARS = {scalar.value: scalar for scalar in Scalar}
# Aggregates with a second argument, and its description.
_PARAMETERS = {
    AggregateFunc.MIN_BY: "a key to compare by",
    AggregateFunc.MAX_BY: "a key to compare by",
    AggregateFunc.PERCENTILE: "a share between 0 and 1",
}


class ExpressionParser(ValueParser):
    """Reads expressions; the operators that yield truth values are those of a subclass."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        # Parentheses and brackets around the current token, within its clause.
        self.enclosed = 0

    @abstractmethod
    def condition(self, place: OperandContext, floor: int = 0) -> Expr:
        """Any expression."""

    def arithmetic(self, place: OperandContext, level: int = 0) -> Expr:
        """An expression of operators that bind tighter than comparisons."""
        if level == len(_LEVELS):
            return self._unary(place)
        start = self.token
        left = self.arithmetic(place, level + 1)
        count = 1
        while (op := _LEVELS[level].get(self.token.text)) and not self._begins_item():
            count += 1
            self.require_at_most(count, MAX_CONDITIONS, f"operands of `{op}`")
            if count > _CHAIN_MAX:
                raise self._too_long()
            self.advance()
            right = self.arithmetic(place, level + 1)
            left = Arithmetic(op, left, right, self.span_from(start))
        return left

    def _too_long(self) -> Exception:
        return self.error(
            SyntaxProblem.TOO_DEEP,
            f"more than {_CHAIN_MAX} operators in a row",
            remedy="split the expression",
        )

    def _begins_item(self) -> bool:
        """Whether the operator begins a new clause or column instead of continuing this one."""
        return self.token.text in ("-", "[") and not self.enclosed and self.on_new_line()

    def _unary(self, place: OperandContext) -> Expr:
        start = self.token
        if start.text == "-" and self.ahead().kind not in (TokenKind.INT, TokenKind.FLOAT):
            self.advance()
            self.deeper()
            operand = self._unary(place)
            self.depth -= 1
            return Negation(operand, self.span_from(start))
        return self._indexed(self.primary(place), start, place)

    def _indexed(self, items: Expr, start: Token, place: OperandContext) -> Expr:
        count = 0
        while self.token.text == "[" and not self._begins_item():
            count += 1
            if count > _CHAIN_MAX:
                raise self._too_long()
            self.advance()
            self.enclosed += 1
            low = None if self.token.text == ".." else self.condition(place)
            if self.accept(".."):
                high = None if self.token.text == "]" else self.condition(place)
                self.expect("]", "write `$list[1..3]`")
                items = Slice(items, low, high, self.span_from(start))
            else:
                self.expect("]", "write `$list[0]`")
                assert low is not None  # noqa: S101 - narrowing; only `..` leaves it out
                items = Index(items, low, self.span_from(start))
            self.enclosed -= 1
        return items

    # --- calls ---------------------------------------------------------------------------------

    def function(self, place: OperandContext) -> Expr:
        """A call of a function that has no syntax of its own."""
        name = self.token
        if name.text in ("cast", "try_cast"):
            return self._cast(place)
        if kind := _QUANTIFIERS.get(name.text):
            return self._quantifier(kind, place)
        if name.text not in FUNCTIONS:
            raise self.unknown_function()
        self.advance()
        args = self._arguments(place)
        return FunctionCall(name.text, args, self.span_from(name), name.span)

    def _arguments(self, place: OperandContext) -> tuple[Expr, ...]:
        """``(a, b)``; the parenthesis is next."""
        self.advance()
        self._enter()
        args: list[Expr] = []
        while self.token.text != ")":
            self.require_at_most(len(args) + 1, MAX_ARGUMENTS, "arguments")
            args.append(self.condition(place))
            if not self.accept(","):
                break
        self.expect(")", "arguments are separated by commas")
        self._leave()
        return tuple(args)

    def _enter(self) -> None:
        self.deeper()
        self.enclosed += 1

    def _leave(self) -> None:
        self.depth -= 1
        self.enclosed -= 1

    def parenthesised(self, place: OperandContext) -> Expr:
        """``( … )``."""
        self.advance()
        self._enter()
        inner = self.condition(place)
        self.expect(")")
        self._leave()
        return inner

    def _cast(self, place: OperandContext) -> Cast:
        start = self.advance()
        self.advance()
        self._enter()
        operand = self.condition(place)
        self.expect("as", f"write `{start.text}(… as I64)`")
        dtype = self._cast_type()
        self.expect(")")
        self._leave()
        return Cast(operand, dtype, start.text == "try_cast", self.span_from(start))

    def _cast_type(self) -> DataType:
        listed = self.accept("[")
        scalar = SCALARS.get(self.token.text)
        if scalar is None or scalar is Scalar.BLOB:
            known = [name for name in SCALARS if name != Scalar.BLOB.value]
            raise self.unknown_word("a type", known)
        self.advance()
        if listed:
            self.expect("]")
            return ListType(scalar)
        return ScalarType(scalar)

    def _quantifier(self, kind: QuantifierKind, place: OperandContext) -> Quantifier:
        start = self.advance()
        self.advance()
        self._enter()
        variable = self.variable_name()
        self.expect("in", f"write `{kind}($item in $x.list where …)`")
        items = self.arithmetic(place)
        self.expect("where", f"write `{kind}($item in $x.list where …)`")
        condition = self.condition(place)
        self.expect(")")
        self._leave()
        span = self.span_from(start)
        return Quantifier(kind, variable.text[1:], items, condition, span, variable.span)

    # --- case ----------------------------------------------------------------------------------

    def begins_case(self) -> bool:
        """Whether the word ``case`` begins an expression: a property may be called so."""
        following = self.ahead()
        if following.kind is TokenKind.IDENT:
            calls = self.ahead(2).text == "("
            return following.text == "when" or calls or self.ahead(2).text == "when"
        return following.kind in (
            TokenKind.VARIABLE,
            TokenKind.STRING,
            TokenKind.INT,
            TokenKind.FLOAT,
        )

    def case(self, place: OperandContext) -> Case:
        """``case [a] when b then c … [else d] end``."""
        start = self.advance()
        self._enter()
        operand = None if self.token.text == "when" else self.condition(place)
        branches: list[tuple[Expr, Expr]] = []
        while self.accept("when"):
            self.require_at_most(len(branches) + 1, MAX_ARGUMENTS, "branches of `case`")
            tested = self.condition(place)
            self.expect("then", "write `case when … then … else … end`")
            branches.append((tested, self._result(place)))
        if not branches:
            raise self.unexpected("`when`", "write `case when … then … else … end`")
        otherwise = self._result(place) if self.accept("else") else None
        self.expect("end", "close `case` with `end`")
        self._leave()
        return Case(operand, tuple(branches), otherwise, self.span_from(start))

    def _result(self, place: OperandContext) -> Expr:
        return self.null_literal() if self.token.text == "null" else self.condition(place)

    # --- aggregates ----------------------------------------------------------------------------

    def aggregate(self, func: AggregateFunc, place: OperandContext) -> Aggregate:
        """``count(…)`` and its like, over rows of the result."""
        start = self.advance()
        if place is not OperandContext.RESULT:
            raise self.error(
                SyntaxProblem.MISPLACED,
                f"`{func}(…)` folds the result and stands in `return` or `order`",
                at=start,
                remedy=f"fold over a pattern with `{func} {{ … }}`",
            )
        self.advance()
        self._enter()
        if func is AggregateFunc.COUNT and self.accept("*"):
            self.expect(")")
            self._leave()
            return Aggregate(func, None, distinct=False, span=self.span_from(start))
        distinct = self.accept("distinct")
        operand = self.condition(place)
        parameter = self.aggregate_parameter(func, place)
        self.expect(")")
        self._leave()
        return Aggregate(func, operand, distinct, self.span_from(start), parameter)

    def aggregate_parameter(self, func: AggregateFunc, place: OperandContext) -> Expr | None:
        if func not in _PARAMETERS:
            return None
        self.expect(",", f"`{func}` takes {_PARAMETERS[func]} after the value")
        return self.condition(place)

    # --- lists ---------------------------------------------------------------------------------

    def list_items(self, place: OperandContext) -> tuple[Expr, ...]:
        """The items up to the closing bracket, which is next afterwards."""
        self._enter()
        items: list[Expr] = []
        while self.token.text != "]":
            if self.token.text == "[":
                raise self.error(
                    SyntaxProblem.UNEXPECTED,
                    "lists do not nest",
                    remedy="write one flat list: `[1, 2]`",
                )
            self.require_at_most(len(items) + 1, MAX_LIST_ITEMS, "items in a list")
            items.append(self.condition(place))
            if not self.accept(","):
                break
        self._leave()
        return tuple(items)


# Operators of one level nest to the left: a limit keeps trees shallow.
_CHAIN_MAX = 100

# Names that a misspelt function may have been meant to be.
CALLABLE = (*FUNCTIONS, *AGGREGATES, "cast", "try_cast", *_QUANTIFIERS)
