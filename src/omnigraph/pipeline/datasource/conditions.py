"""Row filters of the data source: conditions of the query language that the table evaluates.

Spark can push its own filters to a Python data source. It keeps them with the relation, though, so
every other computation on the same frame is filtered as well and silently wrong
(tests/pipeline/test_source.py shows it). Conditions are therefore an option, and part of the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.queries import QueryRequest
from omnigraph.catalog.model import EdgeType
from omnigraph.errors import InvalidInput
from omnigraph.executor.columns.pushdown import split
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import And, Not, PropertyRef, StringMatch, StringOp
from omnigraph.ir.walk import nodes
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.session.query import prepare

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.ir.queries import ReadIR
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["Condition", "parse_where"]

_NODE = "query rows() {{ match {{ $it: {name}\n{where}\n}} return {{ $it }} }}"
_EDGE = "query rows() {{ match {{ $begin $it:{name} $end\n{where}\n}} return {{ $it }} }}"


@frozen
class Condition:
    """A filter that a table evaluates, with the columns whose indexes can answer it alone.

    ``indexed_columns`` is empty where no index can."""

    filter: Any
    indexed_columns: frozenset[str]


def parse_where(engine: Engine, snapshot: Snapshot, entity: EntityType, text: str) -> Condition:
    """Compile conditions on ``$it`` to a filter of the table of the type."""
    is_edge = isinstance(entity, EdgeType)
    name = entity.name[0].lower() + entity.name[1:] if is_edge else entity.name
    query = (_EDGE if is_edge else _NODE).format(name=name, where=text)
    request = QueryRequest(query, source_name="<where>")
    ir = prepare(engine, snapshot, request).ir
    columns: dict[str, str] = {prop.id: prop.column for prop in entity.by_id.values()}
    now = micros_to_datetime(engine.root.clock.now_micros())
    wanted = _condition(ir, 3 if is_edge else 1)
    found = split(wanted, columns, {}, now)
    if found.residual is not None:
        raise InvalidInput(
            "source.where_not_answered",
            f"the table cannot answer all of {text!r}",
            remedy="leave that part to Spark: .where(…) on the frame",
        )
    return Condition(found.pushed, _indexable_columns(wanted, columns))


def _indexable_columns(wanted: Any, columns: dict[str, str]) -> frozenset[str]:
    parts = list(nodes(wanted))
    for part in parts:
        is_part_of_text = isinstance(part, StringMatch) and part.op is not StringOp.STARTS_WITH
        if is_part_of_text or isinstance(part, Not):
            return frozenset()
    return frozenset(columns[part.prop] for part in parts if isinstance(part, PropertyRef))


def _condition(ir: ReadIR, slots: int) -> Any:
    """Return the conditions on the one entity, and reject a query with anything else."""
    block = ir.match
    it = next(slot.slot for slot in block.slots if slot.name == "it")
    named = {node.slot for node in nodes(block.filters) if isinstance(node, PropertyRef)}
    more = block.unwinds or block.source is not None or ir.having is not None
    if more or len(block.slots) != slots or named != {it} or ir.limit is not None or ir.order:
        raise InvalidInput(
            "source.bad_where",
            "where accepts only conditions on `$it`",
            remedy='for more, give a whole query by .option("query", …)',
        )
    return block.filters[0] if len(block.filters) == 1 else And(tuple(block.filters))
