"""The canonical text of a syntax tree. Parsing it again gives the same tree, positions aside."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import spell_type
from omnigraph.datatypes.values import spell_datetime
from omnigraph.language.gq.ast import (
    Aggregate,
    AliasRef,
    Assignment,
    Binding,
    BlockAggregate,
    Comparison,
    Delete,
    Document,
    Exists,
    Expr,
    Insert,
    IsNull,
    ListLiteral,
    Literal,
    Logical,
    MatchItem,
    MatchOp,
    Membership,
    Mutation,
    Not,
    Now,
    Ordering,
    Param,
    Projection,
    PropertyAccess,
    PropertyName,
    Query,
    Read,
    Statement,
    TextCall,
    TextFunc,
    Traversal,
    Update,
    Variable,
)
from omnigraph.language.gq.layout import HARD, SOFT, SPACE, Doc, Group, Mark, Nest, lay_out
from omnigraph.language.lexer import quote_string
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["document_layout", "print_expr", "print_queries"]

_OPTION_NAMES = {TextFunc.FUZZY: "edits", TextFunc.RRF: "k"}


def print_queries(document: Document) -> str:
    """A file with the queries, one blank line between them."""
    return "".join(f"{line}\n" for line in lay_out(document_layout(document)))


def print_expr(expr: Expr) -> str:
    """One expression, for messages and plans."""
    return "\n".join(str(line) for line in lay_out(Group(_expr(expr))))


def document_layout(document: Document) -> Doc:
    """The document before it is laid out, with the source offset of every part."""
    return _joined([_query(query) for query in document.queries], (HARD, HARD))


# --- queries -----------------------------------------------------------------------------------


def _query(query: Query) -> Doc:
    params = [_param(param) for param in query.params]
    notes = [
        (SPACE, f"@{name}({quote_string(text)})")
        for name, text in (("description", query.description), ("instruction", query.instruction))
        if text is not None
    ]
    head = Span(query.name_span.end, query.body.span.start)
    body = _read(query.body) if isinstance(query.body, Read) else _mutation(query.body)
    return (
        (Mark(query.span.start), f"query {query.name}", _enclosed("(", params, ")", head)),
        (Group(Nest(tuple(notes))), " {", Nest((HARD, body))),
        (HARD, Mark(query.span.end - 1), "}"),
    )


def _param(param: Param) -> Doc:
    spelling = spell_type(param.dtype, nullable=param.nullable)
    return Mark(param.span.start), f"${param.name}: {spelling}"


def _read(read: Read) -> Doc:
    parts: list[Doc] = [
        (Mark(read.span.start), "match ", _lines(_clause(item) for item in read.match)),
        (
            "return distinct " if read.distinct else "return ",
            _lines(_projection(projection) for projection in read.returns),
        ),
    ]
    if read.order:
        span = read.order[0].span.to(read.order[-1].span)
        parts.append(("order ", _braced([_ordering(key) for key in read.order], span)))
    for word, count in (("limit", read.limit), ("offset", read.offset)):
        if count is not None:
            parts.append((Mark(count.span.start), f"{word} ", _expr(count)))
    return _joined(parts, HARD)


def _projection(projection: Projection) -> Doc:
    alias = f" as {projection.alias}" if projection.alias else ""
    return Mark(projection.span.start), _expr(projection.expr), alias


def _ordering(ordering: Ordering) -> Doc:
    direction = {None: "", True: " desc", False: " asc"}[ordering.descending]
    return Mark(ordering.span.start), _expr(ordering.expr), direction


def _mutation(mutation: Mutation) -> Doc:
    return _joined([_statement(statement) for statement in mutation.statements], HARD)


def _statement(statement: Statement) -> Doc:
    mark = Mark(statement.span.start)
    match statement:
        case Insert(verb, type_name, assignments):
            return mark, f"{verb} {type_name} ", _assignments(assignments, statement.span)
        case Update(type_name, assignments, where):
            change = Span(statement.span.start, where.span.start)
            head = (mark, "update ", type_name, " set ", _assignments(assignments, change))
            return head, " where ", _condition(where)
        case Delete(type_name, where):
            return mark, f"delete {type_name} where ", _condition(where)


def _assignments(assignments: tuple[Assignment, ...], span: Span) -> Doc:
    if not assignments:
        return "{}"
    return _braced(
        [
            (Mark(assignment.span.start), f"{assignment.prop}: ", _expr(assignment.value))
            for assignment in assignments
        ],
        span,
    )


# --- clauses -----------------------------------------------------------------------------------


def _clause(item: MatchItem) -> Doc:
    mark = Mark(item.span.start)
    match item:
        case Binding(variable, type_name, filters):
            head = f"${variable}: {type_name}"
            return mark, (f"{head} ", _assignments(filters, item.span)) if filters else head
        case Traversal():
            return mark, _traversal(item)
        case _:
            return ("(", _condition(item), ")") if _like_traversal(item) else _condition(item)


def _condition(expr: Expr) -> Doc:
    return Mark(expr.span.start), Group(_expr(expr), expr.span)


def _traversal(item: Traversal) -> str:
    edge = f"<{item.edge_name}>" if item.undirected else item.edge_name
    if item.edge_variable is not None:
        edge = f"${item.edge_variable}:{edge}"
    if item.bounds_span is not None:
        high = "" if item.max_hops is None else item.max_hops
        edge = f"{edge}{{{item.min_hops},{high}}}"
    return f"${item.source} {edge} ${item.target}"


def _block(block: tuple[MatchItem, ...], span: Span, last: Doc | None = None) -> Doc:
    """One clause may stand on the line of its braces, several never do."""
    clauses = [_clause(item) for item in block]
    if last is not None:
        clauses.append(last)
    return _lines(clauses, span) if len(clauses) > 1 else _braced(clauses, span)


# --- expressions -------------------------------------------------------------------------------


def _expr(expr: Expr) -> Doc:
    match expr:
        case Comparison(op, left, right):
            return _expr(left), f" {op.value} ", _expr(right)
        case Membership(item, options):
            return _expr(item), " in ", _expr(options)
        case IsNull(operand, negated):
            return _expr(operand), " is not null" if negated else " is null"
        case Logical(op, operands):
            first, *others = (_operand(part) for part in operands)
            return first, Nest(tuple((SPACE, f"{op.value} ", other) for other in others))
        case Not(operand):
            return "not (", _condition(operand), ")"
        case Exists(block, negated):
            return "not " if negated else "exists ", _block(block, expr.span)
        case BlockAggregate(func, block, operand, distinct):
            what = "return distinct " if distinct else "return "
            last = None if operand is None else (Mark(operand.span.start), what, _expr(operand))
            return f"{func.value} ", _block(block, expr.span, last)
        case _:
            return _value(expr)


def _operand(expr: Expr) -> Doc:
    """An operand of ``and`` or ``or``: parenthesised where a reader may wonder."""
    doc = _condition(expr)
    return ("(", doc, ")") if isinstance(expr, Logical) or _like_traversal(expr) else doc


def _like_traversal(expr: Expr) -> bool:
    """Whether the condition, at the start of a clause, would be read as a traversal."""
    match expr:
        case Comparison(MatchOp(), Variable(), Variable()) | Membership(Variable(), Variable()):
            return True
        case _:
            return False


def _value(expr: Expr) -> Doc:
    match expr:
        case Literal(value):
            return _literal(value)
        case ListLiteral(items):
            return _enclosed("[", [_item(item) for item in items], "]", expr.span)
        case Variable(name):
            return f"${name}"
        case PropertyAccess(variable, prop):
            return f"${variable}.{prop}"
        case PropertyName(word) | AliasRef(word):
            return word
        case Now():
            return "now()"
        case TextCall(func, args):
            return _text_call(func, args)
        case Aggregate(func, operand, distinct):
            inner: Doc = "*" if operand is None else _expr(operand)
            return f"{func.value}(", "distinct " if distinct else "", inner, ")"
        case _:
            raise TypeError(f"not an operand: {type(expr).__name__}")


def _item(expr: Expr) -> Doc:
    return Mark(expr.span.start), _expr(expr)


def _text_call(func: TextFunc, args: tuple[Expr, ...]) -> Doc:
    parts: list[Doc] = [_expr(arg) for arg in args[:2]]
    parts += [(f"{_OPTION_NAMES[func]}=", _expr(arg)) for arg in args[2:]]
    return f"{func.value}(", _joined(parts, ", "), ")"


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quote_string(value)
        case dt.datetime():
            return f'datetime("{spell_datetime(value)}")'
        case dt.date():
            return f'date("{value.isoformat()}")'
        case _:
            return repr(value)


# --- shapes ------------------------------------------------------------------------------------


def _joined(parts: Sequence[Doc], separator: Doc) -> Doc:
    joined: list[Doc] = []
    for part in parts:
        joined += (separator, part) if joined else (part,)
    return tuple(joined)


def _enclosed(opening: str, parts: Sequence[Doc], closing: str, span: Span) -> Doc:
    """``(a, b)``, or one part on each line."""
    if not parts:
        return opening + closing
    return Group((opening, Nest((SOFT, _joined(parts, (",", SPACE)))), SOFT, closing), span)


def _braced(parts: Sequence[Doc], span: Span) -> Doc:
    """``{ a, b }``, or one part on each line; the closing brace ends the span."""
    inner = Nest((SPACE, _joined(parts, (",", SPACE))))
    return Group(("{", inner, SPACE, Mark(span.end - 1), "}"), span)


def _lines(parts: Iterable[Doc], span: Span | None = None) -> Doc:
    """Braces with one part on each line, always."""
    closing = (Mark(span.end - 1), "}") if span else "}"
    return "{", Nest((HARD, _joined(list(parts), HARD))), HARD, closing
