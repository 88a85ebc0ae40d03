"""Conditions and the clauses of a block.

A clause is a binding, a traversal or a condition, and nothing separates clauses. Only one thing
needs a rule: **a bare variable followed by a word is a traversal** (``$a knows $b``), also when the
word is ``contains``, ``starts_with`` or ``in``, because edges may be called so. Such a word is an
operator only

- when what follows is not a bare variable (``$name contains "x"``, ``$a in [1, 2]``), or
- when one of the two variables is a parameter, which no traversal can touch (``$x in $list``), or
- inside parentheses, where no traversal can stand (``($a contains $b)``).

``is`` is an operator before ``null`` and ``not``; ``and``, ``or`` and ``not`` are never edge names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.language.gq.ast import (
    AggregateFunc,
    Assignment,
    Binding,
    BlockAggregate,
    BoolOp,
    CompareOp,
    Comparison,
    Exists,
    Expr,
    IsNull,
    Literal,
    Logical,
    MatchItem,
    MatchOp,
    Membership,
    Not,
    PropertyAccess,
    TextCall,
    TextFunc,
    Traversal,
    Variable,
)
from omnigraph.language.gq.problems import (
    MAX_ASSIGNMENTS,
    MAX_CLAUSES,
    MAX_CONDITIONS,
    SyntaxProblem,
)
from omnigraph.language.gq.values import AGGREGATES, OperandContext, ValueParser
from omnigraph.language.lexer import Token, TokenKind
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from omnigraph.language.gq.cursor import Unparsed
    from omnigraph.language.source import Source, Span

__all__ = ["PatternParser"]

_COMPARISONS: dict[str, CompareOp | MatchOp] = {
    **{op.value: op for op in CompareOp},
    **{op.value: op for op in MatchOp},
}
_LOGIC = {op.value: op for op in BoolOp}
# ``and`` binds tighter than ``or``.
_BINDING_POWER = {BoolOp.OR.value: 1, BoolOp.AND.value: 2}
_PREDICATES = (TextFunc.SEARCH, TextFunc.FUZZY, TextFunc.MATCH_TEXT)
_NEVER_EDGES = frozenset({"and", "or", "not"})
_WORD_OPERATORS = frozenset({"contains", "starts_with", "in"})
_ENDS_A_CONDITION = frozenset({"}", ")", "and", "or", ""})


class PatternParser(ValueParser):
    """Reads blocks: ``match``, ``exists``, ``not``, ``count`` and their clauses."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        # The parameters of the query that is being read.
        self.param_names: set[str] = set()

    # --- blocks --------------------------------------------------------------------------------

    def block(self) -> tuple[MatchItem, ...]:
        """``{ clause … }``; the opening brace is next."""
        self.expect("{")
        clauses = self.clauses()
        self.expect("}")
        return clauses

    def clauses(self) -> tuple[MatchItem, ...]:
        """The clauses up to the closing brace, or up to a ``return`` inside the block."""
        self.deeper()
        clauses: list[MatchItem] = []
        while self.token.text not in ("}", "return"):
            if self.ran_out():
                raise self.unexpected("a clause or `}`", "close the block with `}`")
            self.require_at_most(len(clauses) + 1, MAX_CLAUSES, "clauses in a block")
            clauses.append(self._clause())
            if self.token.text == ",":
                raise self.unexpected("a clause or `}`", "clauses need no comma between them")
        if not clauses:
            raise self.unexpected("a clause", "a block has at least one clause: `$x: Type`")
        self.depth -= 1
        return tuple(clauses)

    def _clause(self) -> MatchItem:
        checkpoint()
        if self.token.kind is not TokenKind.VARIABLE:
            return self.condition(OperandContext.MATCH)
        following = self.ahead()
        if following.text == ":":
            item: Binding | Traversal = self._binding()
        elif self._begins_traversal(following):
            item = self._traversal()
        else:
            return self.condition(OperandContext.MATCH)
        if self.token.text in _LOGIC:
            raise self._pattern_in_condition(item.span)
        return item

    def _begins_traversal(self, following: Token) -> bool:
        """Whether the current variable starts a traversal, by the rule of the module's head."""
        if following.kind is TokenKind.IDENT:
            return self._is_edge_name(following.text)
        if following.text == "<":
            return self._begins_undirected()
        return following.kind in (TokenKind.VARIABLE, TokenKind.TYPE_NAME)

    def _begins_undirected(self) -> bool:
        """Accept its parts in another order, too, for an error that shows the right one."""
        inner, after = self.ahead(2), self.ahead(3)
        if inner.kind is TokenKind.VARIABLE:
            return after.text == ":"
        counted = after.text == "{" and self.ahead(4).text.isdigit()
        return inner.kind is TokenKind.IDENT and (after.text == ">" or counted)

    def _is_edge_name(self, word: str) -> bool:
        right = self.ahead(2)
        if word in _NEVER_EDGES:
            return False
        if word == "is":
            return right.text not in ("null", "not")
        if word not in _WORD_OPERATORS or right.text == "{":
            return True
        if right.kind is not TokenKind.VARIABLE or self.ahead(3).text == ".":
            return False
        return self.token.text[1:] not in self.param_names and (
            right.text[1:] not in self.param_names
        )

    def _pattern_in_condition(self, pattern: Span) -> Unparsed:
        text = self.source.text[pattern.start : pattern.end]
        shown = text if len(text) <= 60 and "\n" not in text else "…"
        return self.error(
            SyntaxProblem.PATTERN_IN_CONDITION,
            "a binding or a traversal is a clause, not a condition",
            at=pattern,
            remedy=f"ask whether it holds: `exists {{ {shown} }}`, or make it a clause of its own",
        )

    # --- bindings and traversals ---------------------------------------------------------------

    def _binding(self) -> Binding:
        variable = self.variable_name()
        self.advance()
        if self.token.kind is TokenKind.IDENT:
            name = self.token.text
            raise self.unexpected(
                "a type name", f"type names start upper case: `{name[0].upper()}{name[1:]}`"
            )
        type_name = self.expect_kind(TokenKind.TYPE_NAME, "a type name", "write `$x: Type`")
        filters: tuple[Assignment, ...] = ()
        if self.token.text == "{":
            filters = self.assignments(allow_null=False)
        return Binding(
            variable.text[1:],
            type_name.text,
            filters,
            self.span_from(variable),
            variable.span,
            type_name.span,
        )

    def assignments(self, *, allow_null: bool) -> tuple[Assignment, ...]:
        """``{ prop: value, … }``; the opening brace is next."""
        self.expect("{")
        found: list[Assignment] = []
        while self.token.text != "}":
            self.require_at_most(len(found) + 1, MAX_ASSIGNMENTS, "properties in one place")
            found.append(self._assignment(allow_null=allow_null))
            self.separate("properties")
        self.advance()
        return tuple(found)

    def _assignment(self, *, allow_null: bool) -> Assignment:
        prop = self.expect_kind(
            TokenKind.IDENT,
            "a property name",
            "write `{ name: value }`; property names start lower case",
        )
        self.expect(":", f"write `{prop.text}: value`")
        if allow_null and self.token.text == "null":
            value: Expr = self.null_literal()
        else:
            value = self.operand(OperandContext.VALUE)
        return Assignment(prop.text, value, self.span_from(prop), prop.span)

    def _traversal(self) -> Traversal:
        source = self.variable_name()
        edge_variable = self._edge_variable()
        undirected = self.accept("<")
        if undirected and self.token.kind is TokenKind.VARIABLE:
            raise self.unexpected("an edge name", "its variable stands before: `$a $e:<knows> $b`")
        edge = self._edge_name()
        if undirected:
            steps = f"the number of steps stands behind: `<{edge.text}>{{1,2}}`"
            self.expect(">", steps if self.token.text == "{" else None)
        bounds = self.token
        low, high = self._bounds() if bounds.text == "{" else (1, 1)
        bounds_span = self.span_from(bounds) if bounds.text == "{" else None
        target = self._target(source, edge)
        return Traversal(
            source=source.text[1:],
            target=target.text[1:],
            edge_name=edge.text,
            edge_variable=edge_variable.text[1:] if edge_variable else None,
            undirected=undirected,
            min_hops=low,
            max_hops=high,
            span=self.span_from(source),
            source_span=source.span,
            target_span=target.span,
            edge_span=edge.span,
            edge_variable_span=edge_variable.span if edge_variable else None,
            bounds_span=bounds_span,
        )

    def _edge_variable(self) -> Token | None:
        if self.token.kind is not TokenKind.VARIABLE:
            return None
        if self.ahead().text != ":":
            raise self.unexpected(
                "an edge between two variables",
                "write `$a knows $b`, or `$a $edge:knows $b` to use the edge's properties",
            )
        variable = self.variable_name()
        self.advance()
        return variable

    def _edge_name(self) -> Token:
        if self.token.kind is TokenKind.TYPE_NAME:
            name = self.token.text
            raise self.unexpected(
                "an edge", f"in a traversal edges start lower case: `{name[0].lower()}{name[1:]}`"
            )
        return self.expect_kind(TokenKind.IDENT, "an edge", "write `$a knows $b`")

    def _bounds(self) -> tuple[int, int | None]:
        self.advance()
        low = self._hops()
        self.expect(",", f"write both bounds: `{{{low},{low}}}`")
        high = None if self.token.text == "}" else self._hops()
        self.expect("}", "write `{min,max}`")
        return low, high

    def _hops(self) -> int:
        token = self.token
        if token.kind is not TokenKind.INT:
            raise self.unexpected("a number of hops", "write `{min,max}` with whole numbers")
        self.operand(OperandContext.VALUE)
        return int(token.value)

    def _target(self, source: Token, edge: Token) -> Token:
        if self.token.kind is not TokenKind.VARIABLE:
            raise self.unexpected(
                "a variable after the edge",
                f"write `{source.text} {edge.text} $other` to traverse, "
                f"`{source.text}.{edge.text}` for a property",
            )
        target = self.variable_name()
        if self.token.text == ".":
            raise self.unexpected(
                "the end of the traversal",
                f"a traversal ends at a variable; test `{target.text}.…` in a clause of its own",
            )
        return target

    # --- conditions ----------------------------------------------------------------------------

    def condition(self, place: OperandContext, floor: int = 0) -> Expr:
        """A boolean expression whose operators bind tighter than ``floor``."""
        start = self.token
        left = self._predicate(place)
        while (power := _BINDING_POWER.get(self.token.text, 0)) > floor:
            word = self.token.text
            operands = [left]
            while self.accept(word):
                self.require_at_most(len(operands) + 1, MAX_CONDITIONS, f"operands of `{word}`")
                operands.append(self.condition(place, power))
            left = _joined(_LOGIC[word], operands, self.span_from(start))
        return left

    def _predicate(self, place: OperandContext) -> Expr:
        token = self.token
        if token.kind is TokenKind.VARIABLE:
            if place is OperandContext.MATCH and self.ahead().text != ".":
                self._reject_pattern()
        elif token.text == "(":
            return self._parenthesised(place)
        elif token.text == "not":
            return self._negation(place)
        elif token.text == "exists" and self.ahead().text == "{":
            self.advance()
            return Exists(self.block(), negated=False, span=self.span_from(token))
        left = self._operand_or_block(place)
        return self._compared(left, token, place)

    def _parenthesised(self, place: OperandContext) -> Expr:
        self.advance()
        self.deeper()
        inner = self.condition(place)
        self.expect(")")
        self.depth -= 1
        return inner

    def _reject_pattern(self) -> None:
        """Fails on a binding or a traversal where only a condition can stand."""
        following = self.ahead()
        if following.text == ":":
            raise self._pattern_in_condition(self._binding().span)
        if following.text not in _WORD_OPERATORS and self._begins_traversal(following):
            raise self._pattern_in_condition(self._traversal().span)

    def _negation(self, place: OperandContext) -> Expr:
        word = self.advance()
        if self.token.text == "(":
            return Not(self._parenthesised(place), self.span_from(word))
        self.accept("exists")
        if self.token.text == "{":
            return Exists(self.block(), negated=True, span=self.span_from(word))
        raise self.unexpected("`(` or `{` after `not`", "write `not (…)` or `not { … }`")

    def _compared(self, left: Expr, start: Token, place: OperandContext) -> Expr:
        """The rest of a predicate whose left operand was read."""
        word = self.token.text
        if op := _COMPARISONS.get(word):
            self.advance()
            self._reject_foreign_operator(word)
            right = self._operand_or_block(place)
            if self.token.text in _COMPARISONS:
                raise self.unexpected("the end of the comparison", "write `a < b and b < c`")
            return Comparison(op, left, right, self.span_from(start))
        if word == "in":
            self.advance()
            return Membership(left, self._options(place), self.span_from(start))
        if word == "is":
            self.advance()
            negated = self.accept("not")
            self.expect("null", "write `is null` or `is not null`; compare values with `=`")
            return IsNull(left, negated, self.span_from(start))
        if isinstance(left, TextCall) and left.func in _PREDICATES:
            return left
        raise self._not_a_condition(left)

    def _options(self, place: OperandContext) -> Expr:
        """The right side of ``in``: a list, a list parameter, or a list property."""
        if self.token.text != "[" and self.token.kind not in (TokenKind.VARIABLE, TokenKind.IDENT):
            raise self.unexpected("a list", "write `in [a, b]`, or pass a list: `in $list`")
        return self.operand(place)

    def _reject_foreign_operator(self, word: str) -> None:
        pair = word + self.token.text
        if pair == "==":
            raise self.unexpected("a value", "equality is a single `=`")
        if pair == "<>":
            raise self.unexpected("a value", "write `!=` for not equal")

    def _operand_or_block(self, place: OperandContext) -> Expr:
        func = AGGREGATES.get(self.token.text)
        if func and self.ahead().text == "{":
            return self._block_aggregate(func)
        return self.operand(place)

    def _block_aggregate(self, func: AggregateFunc) -> BlockAggregate:
        start = self.advance()
        self.advance()
        block = self.clauses()
        operand: Expr | None = None
        distinct = False
        if self.accept("return"):
            distinct = self.accept("distinct")
            operand = self._folded(func)
        elif func is not AggregateFunc.COUNT:
            raise self.unexpected(
                "`return`", f"say what to fold: `{func} {{ $a buys $b  return $b.price }}`"
            )
        self.expect("}")
        return BlockAggregate(func, block, operand, distinct, self.span_from(start))

    def _folded(self, func: AggregateFunc) -> Expr:
        start = self.token
        operand = self.operand(OperandContext.MATCH)
        if not isinstance(operand, Variable | PropertyAccess):
            raise self.error(
                SyntaxProblem.ARGUMENTS,
                f"`{func}` folds a variable or a property",
                at=self.span_from(start),
                remedy="write `return $x.property`",
            )
        return operand

    def _not_a_condition(self, left: Expr) -> Unparsed:
        if self.token.text == "not" and self.ahead().text == "in":
            return self.unexpected("an operator", "write `not (… in […])`")
        text = self.source.text[left.span.start : left.span.end]
        shown = text if len(text) <= 40 and "\n" not in text else "…"
        if self.token.text in _ENDS_A_CONDITION or self.token.kind is TokenKind.VARIABLE:
            remedy = f"compare it: `{shown} = true`"
            if isinstance(left, Literal):
                remedy = "compare it with something, or leave it out"
            elif isinstance(left, TextCall | BlockAggregate):
                remedy = f"compare it with a number: `{shown} > 0`"
            elif self.token.text == ")":
                remedy = f"parentheses hold whole conditions: `({shown} = true)`"
            return self.error(
                SyntaxProblem.NOT_A_CONDITION,
                f"`{shown}` alone is not a condition",
                at=left.span,
                remedy=remedy,
            )
        return self.error(
            SyntaxProblem.NOT_A_CONDITION,
            f"expected an operator after `{shown}`, found {self.described()}",
            remedy=self.suggest(("contains", "starts_with", "in", "is"))
            or "the operators are = != < <= > >= contains starts_with in is",
        )


def _joined(op: BoolOp, operands: list[Expr], span: Span) -> Logical:
    """One node per run of the same operator, however it was parenthesised."""
    flat: list[Expr] = []
    for operand in operands:
        if isinstance(operand, Logical) and operand.op is op:
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return Logical(op, tuple(flat), span)
