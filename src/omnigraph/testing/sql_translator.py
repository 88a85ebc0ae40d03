"""Translation of reads into SQL for DuckDB, an outside comparison of the engine.

The translator reads the IR as data and shares no code with the engine. It raises ``Untranslatable``
for what SQL evaluates differently on purpose (sums and means of floats, which are exact here) or
does not have (search).
"""

# ruff: noqa: S608 - the SQL is built from the IR of a test
from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EdgeType, TypeId
from omnigraph.datatypes.types import INTEGER_RANGES, EnumType, ListType, Scalar, ScalarType
from omnigraph.ir.expressions import (
    Aggregate,
    AggregateFunc,
    And,
    BlockAggregate,
    Call,
    Case,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    EntityRef,
    Exists,
    InList,
    IsNull,
    ListContains,
    MakeList,
    Not,
    Or,
    ParamRef,
    PropertyRef,
    StringMatch,
    StringOp,
)
from omnigraph.testing.reference.patterns import slots_of, tree
from omnigraph.testing.sql_functions import sql_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.queries import Block, Hop, ReadIR

__all__ = ["MACROS", "Translator", "Untranslatable"]

# DuckDB rounds an integer that it compares with a double; these compare exact values.
MACROS = """
CREATE OR REPLACE MACRO order_mixed(i, f) AS CASE
    WHEN i IS NULL OR f IS NULL THEN NULL
    WHEN f >= 18446744073709551616.0::DOUBLE THEN -1
    WHEN f < -9223372036854775808.0::DOUBLE THEN 1
    WHEN i < TRY_CAST(floor(f) AS HUGEINT) THEN -1
    WHEN i > TRY_CAST(floor(f) AS HUGEINT) THEN 1
    WHEN f > floor(f) THEN -1
    ELSE 0 END
"""
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
# Nodes at a shortest distance within the bounds; a loop counts one step further as well.
_DISTANCE = """(
    WITH RECURSIVE step(src, dst) AS (
        SELECT '{source}:' || src, '{target}:' || dst FROM "{edge}"
        UNION SELECT '{target}:' || dst, '{source}:' || src FROM "{edge}" WHERE {both_ways}
    ),
    walk(start, node, depth) AS (
        SELECT '{source}:' || id, '{source}:' || id, 0 FROM "{source}"
        UNION
        SELECT walk.start, step.dst, walk.depth + 1
        FROM walk JOIN step ON step.src = walk.node WHERE walk.depth < {high}
    ),
    shortest AS (SELECT start, node, min(depth) AS depth FROM walk GROUP BY start, node),
    reached AS (
        SELECT start, node, depth FROM shortest
        UNION SELECT start, node, depth + 1 FROM shortest JOIN step ON src = node AND dst = node
    )
    SELECT DISTINCT start, node FROM reached WHERE depth BETWEEN {low} AND {high}
)"""


class Untranslatable(Exception):
    """The read has no equal in SQL."""


def _kind(dtype: Any) -> str:
    if isinstance(dtype, EnumType):
        return "other"
    scalar = getattr(dtype, "scalar", None)
    if scalar in INTEGER_RANGES:
        return "integer"
    return "float" if scalar in (Scalar.F32, Scalar.F64) else "other"


class Translator:
    """Translates one read; ``values`` are the parameters of the statement."""

    def __init__(self, catalog: Catalog, params: Mapping[str, Any]) -> None:
        self._catalog = catalog
        self._params = params
        self.values: dict[str, Any] = {}

    # --- a whole read ---

    def read(self, ir: ReadIR) -> str:
        """The statement of a read: its columns in order, rows in the order of the language."""
        exprs = [each.expr for each in ir.returns]
        if any(aggregates_within(expr) for expr in exprs):
            raise Untranslatable("an aggregate inside of an expression")
        aggregated = any(isinstance(expr, Aggregate) for expr in exprs)
        if ir.having is not None:
            raise Untranslatable("a condition on groups")
        page = self._page(ir)
        if not aggregated and not ir.distinct:
            columns = ", ".join(self._value(expr) for expr in exprs)
            ties = [f"s{slot.slot}.id" for slot in sorted(ir.match.slots, key=lambda s: s.slot)]
            order = self._order([(self._value(k.expr), k.descending) for k in ir.order], ties)
            return f"SELECT {columns} {self._from(ir.match)} {order} {page}"
        return self._grouped(ir, exprs, aggregated=aggregated) + page

    def _grouped(self, ir: ReadIR, exprs: list[Any], *, aggregated: bool) -> str:
        inner, shown, keys = ["1 AS one"], [], []
        for place, expr in enumerate(exprs):
            if isinstance(expr, Aggregate):
                operand = "1" if expr.operand is None else self._value(expr.operand)
                inner.append(f"{operand} AS v{place}")
                shown.append(self._aggregate(expr, f"v{place}"))
            elif slots_of(expr):
                inner.append(f"{self._value(expr)} AS v{place}")
                shown.append(f"v{place}")
                keys.append(f"v{place}")
            else:
                shown.append(self._value(expr))
        source = f"FROM (SELECT {', '.join(inner)} {self._from(ir.match)}) rows"
        by_expr = {id(expr): column for expr, column in zip(exprs, shown, strict=True)}
        order_by = [
            (by_expr.get(id(k.expr)) or self._value(k.expr), k.descending) for k in ir.order
        ]
        order = self._order(order_by, keys)
        # Without keys, aggregates have one group; distinct constants have one where there are rows.
        by = keys or ([] if aggregated else ["one"])
        grouping = f"GROUP BY {', '.join(by)}" if by else ""
        return f"SELECT {', '.join(shown)} {source} {grouping} {order} "

    def _order(self, keys: list[tuple[str, bool]], ties: list[str]) -> str:
        terms = [
            f"({column}) {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}"
            for column, descending in (*keys, *((tie, False) for tie in ties))
        ]
        return f"ORDER BY {', '.join(terms)}" if terms else ""

    def _page(self, ir: ReadIR) -> str:
        limit = "" if ir.limit is None else f"LIMIT {self._value(ir.limit)}"
        offset = "" if ir.offset is None else f"OFFSET {self._value(ir.offset)}"
        return f"{limit} {offset}"

    # --- blocks ---

    def _from(self, block: Block) -> str:
        if block.source is not None or block.unwinds or block.optionals:
            raise Untranslatable("a stage or a list of rows")
        tables = ", ".join(f'"{slot.type_id}" s{slot.slot}' for slot in block.slots)
        conditions = [*map(self._hop, block.hops), *map(self._value, block.filters)]
        where = " AND ".join(f"({condition})" for condition in conditions) or "true"
        return f"{f'FROM {tables}' if tables else ''} WHERE {where}"

    def _hop(self, hop: Hop) -> str:
        source, target = f"s{hop.source}", f"s{hop.target}"
        if hop.edge_slot is not None:
            edge = f"s{hop.edge_slot}"
            forward = f"({edge}.src = {source}.id AND {edge}.dst = {target}.id)"
            backward = f"({edge}.src = {target}.id AND {edge}.dst = {source}.id)"
            return f"({forward} OR {backward})" if hop.undirected else forward
        edge_type = self._catalog.types[TypeId(hop.edge_type)]
        if not isinstance(edge_type, EdgeType):
            raise Untranslatable("a hop along a node")
        pairs = _DISTANCE.format(
            source=edge_type.source,
            target=edge_type.target,
            edge=hop.edge_type,
            both_ways=hop.undirected,
            low=hop.min_hops,
            high=hop.max_hops,
        )
        start, end = (
            f"'{edge_type.source}:' || {source}.id",
            f"'{edge_type.target}:' || {target}.id",
        )
        return f"({start}, {end}) IN (SELECT (start, node) FROM {pairs})"

    # --- expressions ---

    def _value(self, expr: Any) -> str:
        match expr:
            case Const(value, dtype):
                return self._literal(value, dtype)
            case ParamRef(name, dtype):
                return self._literal(self._params[name], dtype)
            case PropertyRef(slot, prop):
                return f's{slot}."{self._column(prop)}"'
            case EntityRef(slot):
                return f"s{slot}.id"
            case Exists() | BlockAggregate():
                return self._block(expr)
            case Call() | Case() | Coalesce():
                return self._computed(expr)
            case And() | Or() | Not() | IsNull():
                return self._logic(expr)
            case _:
                return self._predicate(expr)

    def _computed(self, expr: Call | Case | Coalesce) -> str:
        match expr:
            case Call(args=args):
                found = sql_call(expr, [self._value(arg) for arg in args])
                if found is None:
                    raise Untranslatable(expr.func.value)
                return found
            case Coalesce(args):
                return f"coalesce({', '.join(map(self._value, args))})"
            case Case(branches, otherwise):
                parts = [
                    f"WHEN {self._value(tested)} THEN {self._value(result)}"
                    for tested, result in branches
                ]
                rest = "NULL" if otherwise is None else self._value(otherwise)
                return f"(CASE {' '.join(parts)} ELSE {rest} END)"

    def _logic(self, expr: And | Or | Not | IsNull) -> str:
        match expr:
            case And(operands):
                return "(" + " AND ".join(map(self._value, operands)) + ")"
            case Or(operands):
                return "(" + " OR ".join(map(self._value, operands)) + ")"
            case Not(operand):
                return f"(NOT {self._value(operand)})"
            case IsNull(operand, negated):
                return f"({self._value(operand)} IS {'NOT ' if negated else ''}NULL)"

    def _block(self, expr: Exists | BlockAggregate) -> str:
        rows = self._from(expr.block)
        if isinstance(expr, Exists):
            return f"({'NOT ' if expr.negated else ''}EXISTS (SELECT 1 {rows}))"
        # In a derived table: SQL binds an aggregate of outer columns to the outer query.
        values = "1" if expr.operand is None else self._value(expr.operand)
        return f"(SELECT {self._aggregate(expr, 'v')} FROM (SELECT {values} AS v {rows}) q)"

    def _predicate(self, expr: Any) -> str:
        match expr:
            case Compare(op, left, right):
                return self._compare(op, left, right)
            case StringMatch(op, haystack, needle):
                if op is StringOp.MATCHES:
                    raise Untranslatable("a regular expression")
                function = "contains" if op is StringOp.CONTAINS else op.value
                return f"{function}({self._value(haystack)}, {self._value(needle)})"
            case InList(item, options):
                return self._among(item, self._options(options))
            case ListContains(items, item):
                return self._list_contains(items, item)
            case _:
                raise Untranslatable(type(expr).__name__)

    def _options(self, options: Any) -> list[Any]:
        if isinstance(options, MakeList):
            return list(options.items)
        if not isinstance(options, ParamRef) or not isinstance(options.dtype, ListType):
            raise Untranslatable("a computed list")
        item = ScalarType(options.dtype.item)
        return [Const(value, item) for value in self._params[options.name]]

    def _among(self, item: Any, options: list[Any]) -> str:
        tests = [self._compare(CompareOp.EQ, item, option) for option in options]
        among = " OR ".join(tests) or "false"
        return f"(CASE WHEN {self._value(item)} IS NULL THEN NULL ELSE ({among}) END)"

    def _list_contains(self, items: Any, item: Any) -> str:
        if not isinstance(items, PropertyRef) or not isinstance(items.dtype, ListType):
            raise Untranslatable("a computed list")
        listed, wanted = self._value(items), self._value(item)
        kinds = _kind(ScalarType(items.dtype.item)), _kind(_dtype(item))
        test = _compared("=", ("x", kinds[0]), (f"({wanted})", kinds[1]))
        found = f"len(list_filter({listed}, lambda x: {test})) > 0"
        return f"(CASE WHEN {wanted} IS NULL OR {listed} IS NULL THEN NULL ELSE {found} END)"

    def _compare(self, op: CompareOp, left: Any, right: Any) -> str:
        sign = "<>" if op is CompareOp.NE else op.value
        return _compared(
            sign,
            (self._value(left), _kind(_dtype(left))),
            (self._value(right), _kind(_dtype(right))),
        )

    def _aggregate(self, expr: Aggregate | BlockAggregate, column: str) -> str:
        if expr.operand is None:
            return "count(*)"
        once = "DISTINCT " if expr.distinct else ""
        match expr.func:
            case AggregateFunc.COUNT | AggregateFunc.MIN | AggregateFunc.MAX:
                return f"{expr.func.value}({once}{column})"
            case AggregateFunc.SUM if _kind(_dtype(expr.operand)) == "integer":
                return f"sum({once}{column}::HUGEINT)"
            case _:
                raise Untranslatable("a sum or a mean that SQL rounds")

    # --- literals and columns ---

    def _column(self, prop: str) -> str:
        if prop in ("@id", "@src", "@dst"):
            return prop[1:]
        return next(
            each.column
            for entity in self._catalog.types.values()
            for each in entity.properties
            if each.id == prop
        )

    def _literal(self, value: Any, dtype: Any) -> str:
        if isinstance(dtype, ListType):
            raise Untranslatable("a list of constants")
        name = f"p{len(self.values)}"
        kind = _sql_type(dtype)
        if value is None:
            return f"CAST(NULL AS {kind})"
        if isinstance(value, dt.datetime):
            since = value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
            return f"make_timestamptz({since // dt.timedelta(microseconds=1)})"
        if isinstance(value, str):
            self.values[name] = value
            return f"CAST(${name} AS VARCHAR)"
        return f"CAST('{value}' AS {kind})"


def aggregates_within(expr: Any) -> bool:
    """Whether an aggregate is a part of the expression."""
    if isinstance(expr, Aggregate):
        return False
    return any(isinstance(node, Aggregate) for node in tree(expr))


def _compared(sign: str, left: tuple[str, str], right: tuple[str, str]) -> str:
    (one, one_kind), (other, other_kind) = left, right
    kinds = (one_kind, other_kind)
    if kinds == ("integer", "integer"):
        return f"({one}::HUGEINT {sign} {other}::HUGEINT)"
    if kinds == ("float", "float"):
        return f"({one}::DOUBLE {sign} {other}::DOUBLE)"
    if kinds == ("integer", "float"):
        return f"(order_mixed({one}::HUGEINT, {other}::DOUBLE) {sign} 0)"
    if kinds == ("float", "integer"):
        return f"(order_mixed({other}::HUGEINT, {one}::DOUBLE) {_FLIPPED[sign]} 0)"
    return f"({one} {sign} {other})"


def _dtype(expr: Any) -> Any:
    return getattr(expr, "dtype", None)


def _sql_type(dtype: Any) -> str:
    names: dict[Any, str] = {
        Scalar.BOOL: "BOOLEAN",
        Scalar.I32: "INTEGER",
        Scalar.I64: "BIGINT",
        Scalar.U32: "UINTEGER",
        Scalar.U64: "UBIGINT",
        Scalar.F32: "FLOAT",
        Scalar.F64: "DOUBLE",
        Scalar.DATE: "DATE",
        Scalar.DATETIME: "TIMESTAMPTZ",
    }
    return names.get(getattr(dtype, "scalar", None), "VARCHAR")
