"""The canonical text of a syntax tree. Parsing it again gives the same tree, positions aside."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import spell_type
from omnigraph.datatypes.values import spell_datetime
from omnigraph.language.gq.ast import (
    Aggregate,
    AliasRef,
    Arithmetic,
    ArithmeticOp,
    Assignment,
    Binding,
    BlockAggregate,
    BoolOp,
    Case,
    Cast,
    Comparison,
    Delete,
    Document,
    Duration,
    Exists,
    Expr,
    FunctionCall,
    Index,
    Insert,
    IsNull,
    ListLiteral,
    Literal,
    Logical,
    MatchItem,
    MatchOp,
    Membership,
    Mutation,
    Negation,
    Not,
    Now,
    OptionalBlock,
    Ordering,
    Param,
    Projection,
    PropertyAccess,
    PropertyName,
    Quantifier,
    Query,
    Read,
    Slice,
    Star,
    Statement,
    TextCall,
    TextFunc,
    Traversal,
    UnionRead,
    Unwind,
    Update,
    Variable,
)
from omnigraph.language.gq.layout import HARD, SOFT, SPACE, Doc, Group, Mark, Nest, lay_out
from omnigraph.language.lexer import quote_string
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    body = _body(query.body)
    return (
        (Mark(query.span.start), f"query {query.name}", _enclosed("(", params, ")", head)),
        (Group(Nest(tuple(notes))), " {", Nest((HARD, body))),
        (HARD, Mark(query.span.end - 1), "}"),
    )


def _param(param: Param) -> Doc:
    spelling = spell_type(param.dtype, nullable=param.nullable)
    return Mark(param.span.start), f"${param.name}: {spelling}"


def _body(body: Read | UnionRead | Mutation) -> Doc:
    match body:
        case Read():
            return _read(body)
        case UnionRead(parts, every):
            word = "union all" if every else "union"
            return _joined([_read(part) for part in parts], (HARD, word, HARD))
        case Mutation():
            return _mutation(body)


def _read(read: Read) -> Doc:
    if read.source is None:
        return _stage(read)
    return _read(read.source), HARD, "then ", _stage(read)


def _stage(read: Read) -> Doc:
    parts: list[Doc] = []
    if read.match:
        clauses = _lines(_clause(item) for item in read.match)
        parts.append((Mark(read.span.start), "match ", clauses))
    parts.append(
        (
            "return distinct " if read.distinct else "return ",
            _lines(_projections(read.returns)),
        )
    )
    if read.having is not None:
        parts.append((Mark(read.having.span.start), "having ", _condition(read.having)))
    if read.order:
        span = read.order[0].span.to(read.order[-1].span)
        parts.append(("order ", _braced([_ordering(key) for key in read.order], span)))
    for word, count in (("limit", read.limit), ("offset", read.offset)):
        if count is not None:
            parts.append((Mark(count.span.start), f"{word} ", _expr(count)))
    return _joined(parts, HARD)


def _projections(projections: tuple[Projection, ...]) -> Iterator[Doc]:
    """Columns, each on its line; a comma before one whose name would continue the one before."""
    for projection, following in zip(projections, (*projections[1:], None), strict=True):
        first = None if following is None else _leaf(following.expr)
        named = isinstance(first, AliasRef) and first.name in _OPERATOR_WORDS
        comma = named or isinstance(first, Star)
        yield _projection(projection), "," if comma else ""


def _leaf(expr: Expr) -> Expr:
    """The value that an expression begins with."""
    match expr:
        case Comparison(_, left) | Membership(left) | IsNull(left):
            return _leaf(left)
        case Logical(_, (left, *_)):
            return _leaf(left)
        case _:
            return _first(expr)


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
            head = (
                mark,
                "update ",
                type_name,
                _named(statement),
                " set ",
                _assignments(assignments, change),
            )
            return head, " where ", _condition(where)
        case Delete(type_name, where):
            return mark, f"delete {type_name}{_named(statement)} where ", _condition(where)


def _named(statement: Update | Delete) -> str:
    return "" if statement.variable is None else f" as ${statement.variable}"


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
        case OptionalBlock(block):
            return mark, "optional ", _block(block, item.span)
        case Unwind(items, variable):
            return mark, "unwind ", _expr(items), f" as ${variable}"
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

_OPERATOR_WORDS = frozenset({"and", "or", "not", "in", "is", *(op.value for op in MatchOp)})
# How tightly an expression binds; a looser operand stands in parentheses.
_OR, _AND, _NOT, _COMPARED, _JOINED, _SUM, _PRODUCT, _SIGN, _INDEXED, _PRIMARY = range(10)
_ARITHMETIC = {
    ArithmeticOp.CONCATENATE: _JOINED,
    ArithmeticOp.ADD: _SUM,
    ArithmeticOp.SUBTRACT: _SUM,
    ArithmeticOp.MULTIPLY: _PRODUCT,
    ArithmeticOp.DIVIDE: _PRODUCT,
    ArithmeticOp.MODULO: _PRODUCT,
}


def _tightness(expr: Expr) -> int:
    match expr:
        case Logical(op):
            return _OR if op is BoolOp.OR else _AND
        case Not():
            return _NOT
        case Comparison() | Membership() | IsNull():
            return _COMPARED
        case Arithmetic(op):
            return _ARITHMETIC[op]
        case Negation():
            return _SIGN
        case Literal(int() | float() as number) if number < 0 or str(number)[0] == "-":
            return _SIGN
        case Index() | Slice():
            return _INDEXED
        case _:
            return _PRIMARY


def _expr(expr: Expr) -> Doc:
    match expr:
        case Comparison() | Membership() | IsNull():
            return _test(expr)
        case Logical(op, operands):
            first, *others = (_operand(part) for part in operands)
            return first, Nest(tuple((SPACE, f"{op.value} ", other) for other in others))
        case Not(operand):
            return "not (", _condition(operand), ")"
        case Exists(block, negated):
            return "not " if negated else "exists ", _block(block, expr.span)
        case BlockAggregate(func, block):
            return f"{func.value} ", _block(block, expr.span, _folded(expr))
        case Arithmetic() | Negation() | Index() | Slice():
            return _operation(expr)
        case _:
            return _value(expr)


def _folded(expr: BlockAggregate) -> Doc | None:
    if expr.operand is None:
        return None
    what = "return distinct " if expr.distinct else "return "
    more: Doc = "" if expr.parameter is None else (", ", _expr(expr.parameter))
    return Mark(expr.operand.span.start), what, _expr(expr.operand), more


def _test(expr: Comparison | Membership | IsNull) -> Doc:
    match expr:
        case Comparison(op, left, right):
            return _within(left, _JOINED), f" {op.value} ", _within(right, _JOINED)
        case Membership(item, options):
            return _within(item, _JOINED), " in ", _within(options, _JOINED)
        case IsNull(operand, negated):
            return _within(operand, _JOINED), " is not null" if negated else " is null"


def _within(expr: Expr, floor: int) -> Doc:
    """An operand, in parentheses if it binds looser than its place allows."""
    return _expr(expr) if _tightness(expr) >= floor else ("(", _expr(expr), ")")


def _operation(expr: Arithmetic | Negation | Index | Slice) -> Doc:
    match expr:
        case Arithmetic(op, left, right):
            level = _ARITHMETIC[op]
            return _within(left, level), f" {op.value} ", _within(right, level + 1)
        case Negation(operand):
            # Without parentheses a number would take the sign for its own.
            bare = not isinstance(operand, Literal | Negation) and _tightness(operand) >= _SIGN
            return ("-", _expr(operand)) if bare else ("-(", _expr(operand), ")")
        case Index(items, index):
            return _within(items, _INDEXED), "[", _expr(index), "]"
        case Slice(items, low, high):
            ends = ["" if end is None else _expr(end) for end in (low, high)]
            return _within(items, _INDEXED), "[", ends[0], "..", ends[1], "]"


def _operand(expr: Expr) -> Doc:
    """An operand of ``and`` or ``or``: parenthesised where a reader may wonder."""
    doc = _condition(expr)
    return ("(", doc, ")") if isinstance(expr, Logical) or _like_traversal(expr) else doc


def _like_traversal(expr: Expr) -> bool:
    """Whether the condition, at the start of a clause, would be read as something else."""
    match expr:
        case Comparison(MatchOp(), left, right) | Membership(left, right):
            first, second = _first(left), _first(right)
            return isinstance(first, Variable) and isinstance(second, Variable)
        case Variable():
            return True
        case _:
            return False


def _first(expr: Expr) -> Expr:
    """The operand that an expression begins with."""
    match expr:
        case Arithmetic(_, left):
            return _first(left) if _tightness(left) >= _ARITHMETIC[expr.op] else expr
        case Index(items) | Slice(items):
            return _first(items) if _tightness(items) >= _INDEXED else expr
        case _:
            return expr


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
        case Now() | Star():
            return "now()" if isinstance(expr, Now) else "*"
        case TextCall(func, args):
            return _text_call(func, args)
        case _:
            return _call(expr)


def _call(expr: Expr) -> Doc:
    match expr:
        case Aggregate(func, operand, distinct, _, parameter):
            inner: Doc = "*" if operand is None else _expr(operand)
            more: Doc = "" if parameter is None else (", ", _expr(parameter))
            return f"{func.value}(", "distinct " if distinct else "", inner, more, ")"
        case FunctionCall(name, args):
            return _enclosed(f"{name}(", [_item(arg) for arg in args], ")", expr.span)
        case Cast(operand, dtype, tries):
            word = "try_cast" if tries else "cast"
            return f"{word}(", _expr(operand), f" as {spell_type(dtype)})"
        case Quantifier(kind, variable, items, condition):
            head = f"{kind.value}(${variable} in "
            return head, _within(items, _JOINED), " where ", _expr(condition), ")"
        case Duration():
            return f'duration("{spell_duration(expr.months, expr.days, expr.micros)}")'
        case Case():
            return _case(expr)
        case _:
            raise TypeError(f"not an operand: {type(expr).__name__}")


def _case(expr: Case) -> Doc:
    parts: list[Doc] = ["case" if expr.operand is None else ("case ", _expr(expr.operand))]
    for tested, result in expr.branches:
        parts.append(Nest((SPACE, "when ", _expr(tested), " then ", _expr(result))))
    if expr.otherwise is not None:
        parts.append(Nest((SPACE, "else ", _expr(expr.otherwise))))
    return Group((*parts, SPACE, "end"), expr.span)


def spell_duration(months: int, days: int, micros: int) -> str:
    """A duration in ISO 8601; all of its parts have one sign."""
    sign = "-" if min(months, days, micros) < 0 else ""
    months, days, micros = abs(months), abs(days), abs(micros)
    seconds, fraction = divmod(micros, 1_000_000)
    shown = f"{seconds}.{fraction:06}".rstrip("0").rstrip(".") if fraction else str(seconds)
    date = "".join(f"{n}{unit}" for n, unit in ((months, "M"), (days, "D")) if n)
    time = f"T{shown}S" if micros else ""
    return f"{sign}P{date}{time}" if date or time else "P0D"


def _item(expr: Expr) -> Doc:
    return Mark(expr.span.start), _expr(expr)


def _text_call(func: TextFunc, args: tuple[Expr, ...]) -> Doc:
    parts: list[Doc] = [_expr(arg) for arg in args[:2]]
    # Only a tree made by hand gives an option to a function without one.
    name = _OPTION_NAMES.get(func, "option")
    parts += [(f"{name}=", _expr(arg)) for arg in args[2:]]
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
