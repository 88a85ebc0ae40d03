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
    ListLiteral,
    Literal,
    Logical,
    MatchItem,
    MatchOp,
    Membership,
    Not,
    OptionalBlock,
    Traversal,
    Unwind,
)
from omnigraph.language.gq.expressions import ExpressionParser
from omnigraph.language.gq.problems import (
    MAX_ASSIGNMENTS,
    MAX_CLAUSES,
    MAX_CONDITIONS,
    SyntaxProblem,
)
from omnigraph.language.gq.values import AGGREGATES, OperandContext
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
# Words that continue a value, so that ``not`` before one of them is a name.
_AFTER_A_VALUE = frozenset(
    {"contains", "starts_with", "ends_with", "matches", "in", "is", "and", "or"}
)
# Words that may follow a complete clause on its line.
_AFTER_A_CLAUSE = frozenset(
    {"return", "exists", "not", "true", "false", "then", "optional", "unwind"}
)
# Words that follow a value within parentheses or `case`.
_AFTER_AN_ENCLOSED_VALUE = frozenset({"as", "when", "then", "else", "end", "where"})
# Words before a variable that begin a clause, or go on in a condition.
_BEGINS_A_CLAUSE = frozenset(
    {"unwind", "not", "case", "return", "and", "or", "is", "true", "false"}
)
_SHOWN_OPERATORS = "= != < <= > >= contains starts_with ends_with matches in is"
_NEVER_EDGES = frozenset({"and", "or", "not"})
_WORD_OPERATORS = frozenset({"contains", "starts_with", "ends_with", "matches", "in"})
# After two variables around a word, these make the word an operator: no traversal goes on so.
_GOES_ON = frozenset({".", "[", "||", "+", "*", "/", "%"})


class PatternParser(ExpressionParser):
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
            clauses += self._clause()
            if self.token.text == ",":
                raise self.unexpected("a clause or `}`", "clauses need no comma between them")
        if not clauses:
            raise self.unexpected("a clause", "a block has at least one clause: `$x: Type`")
        self.depth -= 1
        return tuple(clauses)

    def _clause(self) -> list[MatchItem]:
        """A clause, or the traversals of a chain: ``$a knows $b knows $c``."""
        checkpoint()
        if self.token.text == "unwind":
            return [self._unwind()]
        if self.token.text == "optional" and self.ahead().text == "{":
            word = self.advance()
            return [OptionalBlock(self.block(), self.span_from(word))]
        if self.token.kind is not TokenKind.VARIABLE:
            return [self._condition_clause()]
        following = self.ahead()
        if following.text == ":":
            items: list[MatchItem] = [self._binding()]
        elif self._begins_traversal(following):
            items = self._chain()
        else:
            return [self._condition_clause()]
        if self.token.text in _LOGIC:
            raise self._pattern_in_condition(items[-1].span)
        return items

    def _unwind(self) -> Unwind:
        start = self.advance()
        self.enclosed += 1
        items = self.condition(OperandContext.MATCH)
        self.enclosed -= 1
        self.expect("as", "write `unwind $x.list as $item`")
        variable = self.variable_name()
        return Unwind(items, variable.text[1:], self.span_from(start), variable.span)

    def _condition_clause(self) -> Expr:
        condition = self.condition(OperandContext.MATCH)
        last = condition.operands[-1] if isinstance(condition, Logical) else condition
        self._require_condition(last)
        return condition

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
        if right.kind is not TokenKind.VARIABLE or self.ahead(3).text in _GOES_ON:
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
            filters = self.assignments(OperandContext.FILTER)
        return Binding(
            variable.text[1:],
            type_name.text,
            filters,
            self.span_from(variable),
            variable.span,
            type_name.span,
        )

    def assignments(self, place: OperandContext) -> tuple[Assignment, ...]:
        """``{ prop: value, … }``; the opening brace is next."""
        self.expect("{")
        found: list[Assignment] = []
        while self.token.text != "}":
            self.require_at_most(len(found) + 1, MAX_ASSIGNMENTS, "properties in one place")
            found.append(self._assignment(place))
            self.separate("properties")
        self.advance()
        return tuple(found)

    def _assignment(self, place: OperandContext) -> Assignment:
        prop = self.expect_kind(
            TokenKind.IDENT,
            "a property name",
            "write `{ name: value }`; property names start lower case",
        )
        self.expect(":", f"write `{prop.text}: value`")
        if place is not OperandContext.FILTER and self.token.text == "null":
            value: Expr = self.null_literal()
        else:
            value = self.condition(place)
        return Assignment(prop.text, value, self.span_from(prop), prop.span)

    def _chain(self) -> list[MatchItem]:
        """A traversal, and those that go on from its end."""
        traversals = [self._traversal(self.variable_name())]
        while self._continues_chain():
            self.require_at_most(len(traversals) + 1, MAX_CLAUSES, "traversals in a chain")
            # The end of the one before is the source of the next.
            traversals.append(self._traversal(self.tokens[self.at - 1]))
        return [*traversals]

    def _continues_chain(self) -> bool:
        """Whether an edge follows the end of a traversal: no clause begins with such a word."""
        token, following = self.token, self.ahead()
        if token.text == "<":
            return following.kind is TokenKind.IDENT and self.ahead(2).text == ">"
        if token.kind is TokenKind.VARIABLE:
            edge = self.ahead(2)
            return following.text == ":" and (edge.kind is TokenKind.IDENT or edge.text == "<")
        if token.kind is not TokenKind.IDENT or token.text in _BEGINS_A_CLAUSE:
            return False
        counted = self.ahead(2).kind is TokenKind.INT and self.ahead(3).text == ","
        return following.kind is TokenKind.VARIABLE or (following.text == "{" and counted)

    def _traversal(self, source: Token) -> Traversal:
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
        self.primary(OperandContext.VALUE)
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
        elif token.text == "not" and self._negates():
            return self._negation(place)
        left = self.arithmetic(place)
        return self._compared(left, token, place)

    def _negates(self) -> bool:
        """Whether ``not`` negates: in a mutation a property may be called so."""
        following = self.ahead()
        if following.text in ("(", "{"):
            return True
        starts = (TokenKind.VARIABLE, TokenKind.IDENT)
        return following.kind in starts and following.text not in _AFTER_A_VALUE

    def primary(self, place: OperandContext) -> Expr:
        """A value without operators, blocks included."""
        token = self.token
        if self.ahead().text == "{" and token.kind is TokenKind.IDENT:
            if token.text == "exists":
                self.advance()
                return Exists(self.block(), negated=False, span=self.span_from(token))
            if func := AGGREGATES.get(token.text):
                return self._block_aggregate(func)
        return super().primary(place)

    def _reject_pattern(self) -> None:
        """Fails on a binding or a traversal where only a condition can stand."""
        following = self.ahead()
        if self.enclosed and following.text in _AFTER_AN_ENCLOSED_VALUE:
            return
        if following.text == ":":
            raise self._pattern_in_condition(self._binding().span)
        if following.text not in _WORD_OPERATORS and self._begins_traversal(following):
            raise self._pattern_in_condition(self._traversal(self.variable_name()).span)

    def _negation(self, place: OperandContext) -> Expr:
        word = self.advance()
        if self.token.text == "exists" and self.ahead().text == "{":
            self.advance()
        if self.token.text == "{":
            return Exists(self.block(), negated=True, span=self.span_from(word))
        # Parentheses count by themselves.
        bare = self.token.text != "("
        if bare:
            self.deeper()
        operand = self._predicate(place)
        self.depth -= bare
        return Not(operand, self.span_from(word))

    def _compared(self, left: Expr, start: Token, place: OperandContext) -> Expr:
        """The rest of a predicate whose left operand was read."""
        word = self.token.text
        if op := _COMPARISONS.get(word):
            self.advance()
            self._reject_foreign_operator(word)
            right = self.arithmetic(place)
            if self.token.text in _COMPARISONS:
                raise self.unexpected("the end of the comparison", "write `a < b and b < c`")
            return Comparison(op, left, right, self.span_from(start))
        if word == "in":
            self.advance()
            return Membership(left, self._options(place), self.span_from(start))
        if word == "not" and self.ahead().text == "in":
            self.advance()
            self.advance()
            among = Membership(left, self._options(place), self.span_from(start))
            return Not(among, self.span_from(start))
        if word == "is":
            self.advance()
            negated = self.accept("not")
            self.expect("null", "write `is null` or `is not null`; compare values with `=`")
            return IsNull(left, negated, self.span_from(start))
        return left

    def _options(self, place: OperandContext) -> Expr:
        """The right side of ``in``: a list."""
        kinds = (TokenKind.VARIABLE, TokenKind.IDENT)
        if self.token.text not in ("[", "(") and self.token.kind not in kinds:
            raise self.unexpected("a list", "write `in [a, b]`, or pass a list: `in $list`")
        return self.arithmetic(place)

    def _reject_foreign_operator(self, word: str) -> None:
        pair = word + self.token.text
        if pair == "==":
            raise self.unexpected("a value", "equality is a single `=`")
        if pair == "<>":
            raise self.unexpected("a value", "write `!=` for not equal")

    def _block_aggregate(self, func: AggregateFunc) -> BlockAggregate:
        start = self.advance()
        self.advance()
        block = self.clauses()
        operand: Expr | None = None
        parameter: Expr | None = None
        distinct = False
        if self.accept("return"):
            distinct = self.accept("distinct")
            operand = self.condition(OperandContext.MATCH)
            parameter = self.aggregate_parameter(func, OperandContext.MATCH)
        elif func is not AggregateFunc.COUNT:
            raise self.unexpected(
                "`return`", f"say what to fold: `{func} {{ $a buys $b  return $b.price }}`"
            )
        self.expect("}")
        return BlockAggregate(func, block, operand, distinct, self.span_from(start), parameter)

    def _require_condition(self, left: Expr) -> None:
        """Fails where a clause ends after a value that decides nothing."""
        text = self.source.text[left.span.start : left.span.end]
        shown = text if len(text) <= 40 and "\n" not in text else "…"
        token = self.token
        begins = self.ahead().text in ("(", "{") or token.text in _AFTER_A_CLAUSE
        if token.kind is TokenKind.IDENT and not self.on_new_line() and not begins:
            raise self.error(
                SyntaxProblem.NOT_A_CONDITION,
                f"expected an operator after `{shown}`, found {self.described()}",
                remedy=self.suggest(_WORD_OPERATORS) or f"the operators are {_SHOWN_OPERATORS}",
            )
        decides = isinstance(left, Literal) and isinstance(left.value, bool)
        if isinstance(left, Literal | ListLiteral) and not decides:
            raise self.error(
                SyntaxProblem.NOT_A_CONDITION,
                f"`{shown}` alone is not a condition",
                at=left.span,
                remedy="compare it with something, or leave it out",
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
