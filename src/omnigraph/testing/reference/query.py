"""A read from its IR to its rows: match, retrieve, group, order, page, project."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import DST, ID, SRC, EdgeType, TypeId
from omnigraph.datatypes.types import Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import (
    Aggregate,
    RankFusion,
    Score,
    ScoreFunc,
    TextFunc,
    TextMatch,
)
from omnigraph.ir.queries import EntitySlot, Stage
from omnigraph.testing.reference.expressions import max_edits, value
from omnigraph.testing.reference.graph import Entity, Refused
from omnigraph.testing.reference.patterns import bind_tables, binding_table, slots_of, tree
from omnigraph.testing.reference.ranking import is_ranked, query_vector
from omnigraph.testing.reference.scope import Scope
from omnigraph.testing.reference.values import order

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.expressions import Expr
    from omnigraph.ir.queries import ReadIR
    from omnigraph.testing.reference.graph import Binding, Graph
    from omnigraph.testing.reference.scope import Embed

__all__ = ["evaluate"]


def evaluate(
    ir: ReadIR,
    catalog: Catalog,
    graph: Graph,
    params: Mapping[str, Any],
    *,
    now: dt.datetime,
    embed: Embed | None = None,
) -> list[dict[str, Any]]:
    """Evaluate a read: one dict per row, by the names of its columns."""
    if any(spec.name not in params for spec in ir.params):
        raise Refused("param.missing")
    scope = Scope(graph, catalog, params, now, embed)
    _page(ir, scope)
    for each in tree(ir):
        if isinstance(each, Stage):
            _page(each, scope)
    _check_searches(ir, scope)
    names = [each.name for each in ir.returns]
    return [
        dict(zip(names, [_shown(each, catalog) for each in row], strict=True))
        for row in _stage_rows(ir, scope)
    ]


def _stage_rows(ir: ReadIR | Stage, scope: Scope) -> list[list[Any]]:
    """The columns of the rows of a stage, in order and by page."""
    matched = sorted(binding_table(ir.match, {}, scope), key=_identity)
    scope.ranked = matched
    _check_fusions(ir, scope)
    groups = _grouped(ir, _retrieved(ir, matched, scope), scope)
    if ir.having is not None:
        groups = [group for group in groups if _value(ir.having, group, scope) is True]
    groups = _ordered(ir, groups, scope)
    offset, limit = _page(ir, scope)
    page = groups[offset:] if limit is None else groups[offset : offset + limit]
    return [[_value(each.expr, group, scope) for each in ir.returns] for group in page]


def _table_rows(table: Any, scope: Scope) -> list[Binding]:
    """The rows of a stage or a union, by the slots of the columns."""
    if isinstance(table, Stage):
        rows = _stage_rows(table, scope)
    else:
        rows = [row for part in table.parts for row in _stage_rows(part, scope)]
        if table.distinct:
            rows = _each_once(rows)
    slots = [each.slot for each in table.outputs]
    return [dict(zip(slots, row, strict=True)) for row in rows]


bind_tables(_table_rows)


def _each_once(rows: list[list[Any]]) -> list[list[Any]]:
    kept: list[list[Any]] = []
    for row in rows:
        if all(order(row, other) for other in kept):
            kept.append(row)
    return kept


def _identity(row: Binding) -> Any:
    """The key of a row in the order of its slots: entities by id, values by value."""
    return cmp_to_key(order)([row[slot] for slot in sorted(row)])


@dataclass(frozen=True)
class _Group:
    """Matched rows that make one row of the result; without grouping, a single one."""

    rows: Sequence[Binding]


def _value(expr: Expr, group: _Group, scope: Scope) -> Any:
    scope.group = group.rows
    return value(expr, group.rows[0] if group.rows else {}, scope)


# --- checks before the first row ---------------------------------------------------------------


def _page(ir: ReadIR | Stage, scope: Scope) -> tuple[int, int | None]:
    limit, offset = (
        None if expr is None else value(expr, {}, scope) for expr in (ir.limit, ir.offset)
    )
    for name, count in (("limit", limit), ("offset", offset)):
        if count is not None and count < 0:
            raise Refused(f"query.negative_{name}")
    if limit is None and any(_needs_limit(key.expr) for key in ir.order):
        raise Refused("search.limit_required")
    return offset or 0, limit


def _needs_limit(expr: Expr) -> bool:
    return isinstance(expr, RankFusion) or getattr(expr, "func", None) is ScoreFunc.NEAREST


def _check_searches(ir: ReadIR, scope: Scope) -> None:
    """Refuse arguments of searches that no row could use."""
    types = {each.slot: each.type_id for each in tree(ir) if isinstance(each, EntitySlot)}
    for node in tree(ir):
        if isinstance(node, TextMatch) and node.func is TextFunc.FUZZY:
            max_edits(node, scope)
        if isinstance(node, Score) and node.func is ScoreFunc.NEAREST and not slots_of(node.query):
            query = value(node.query, {}, scope)
            if query is not None:
                query_vector(node, types[node.target.slot], query, scope)


def _check_fusions(ir: ReadIR | Stage, scope: Scope) -> None:
    for node in tree((ir.returns, ir.order)):
        if isinstance(node, RankFusion):
            k = value(node.k, {}, scope)
            if k is None or k <= 0:
                raise Refused("search.rrf_k")


# --- rows of the result ------------------------------------------------------------------------


def _retrieved(ir: ReadIR | Stage, rows: Sequence[Binding], scope: Scope) -> list[Binding]:
    """Drop the rows that a score of the order does not rank."""
    kept = list(rows)
    for key in ir.order:
        expr = key.expr
        if isinstance(expr, Score):
            kept = [row for row in kept if is_ranked(expr, value(expr, row, scope))]
        elif isinstance(expr, RankFusion):
            kept = [row for row in kept if value(expr, row, scope) > 0]
    return kept


def _grouped(ir: ReadIR | Stage, rows: Sequence[Binding], scope: Scope) -> list[_Group]:
    exprs = [each.expr for each in ir.returns]
    tested = [] if ir.having is None else [ir.having]
    aggregated = any(map(_aggregates, [*exprs, *tested]))
    if not aggregated and not ir.distinct:
        return [_Group([row]) for row in rows]
    keys = [expr for expr in exprs if not _aggregates(expr) and slots_of(expr)]
    if aggregated and not keys:
        return [_Group(rows)]
    keyed = [([value(key, row, scope) for key in keys], row) for row in rows]
    # Groups are runs of equal keys, in the order of the keys, their rows in the order of the ids.
    keyed.sort(key=lambda pair: cmp_to_key(order)(pair[0]))
    groups: list[tuple[Any, list[Binding]]] = []
    for key_values, row in keyed:
        if groups and order(groups[-1][0], key_values) == 0:
            groups[-1][1].append(row)
        else:
            groups.append((key_values, [row]))
    return [_Group(found) for _, found in groups]


def _aggregates(expr: Expr) -> bool:
    return any(isinstance(node, Aggregate) for node in tree(expr))


def _ordered(ir: ReadIR | Stage, groups: list[_Group], scope: Scope) -> list[_Group]:
    """Sort by the keys of the order; ties stay in the order of their group keys or ids."""
    if not ir.order:
        return groups
    keyed = [([_value(key.expr, group, scope) for key in ir.order], group) for group in groups]

    def compare(left: Any, right: Any) -> int:
        for key, one, other in zip(ir.order, left[0], right[0], strict=True):
            found = order(other, one) if key.descending else order(one, other)
            if found:
                return found
        return 0

    return [group for _, group in sorted(keyed, key=cmp_to_key(compare))]


def _shown(result: Any, catalog: Catalog) -> Any:
    """A value as a result holds it: an entity as a dict of its properties by name."""
    if not isinstance(result, Entity):
        return result
    entity_type = catalog.types[TypeId(result.type_id)]
    fields = [("id", ID)]
    if isinstance(entity_type, EdgeType):
        fields += [("from", SRC), ("to", DST)]
    fields += [(prop.name, prop) for prop in entity_type.properties if not _is_bulky(prop.dtype)]
    return {name: result.values[prop.id] for name, prop in fields}


def _is_bulky(dtype: Any) -> bool:
    return isinstance(dtype, VectorType) or dtype == ScalarType(Scalar.BLOB)
