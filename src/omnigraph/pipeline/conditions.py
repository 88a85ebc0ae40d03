"""Which rows of a table are wanted: conditions of the query language, answered by the table.

Spark would push its own filters to a Python data source. It keeps them with the relation, though,
so that whatever else is computed from the same frame is filtered as well, and silently wrong
(tests/pipeline/test_source.py shows it). Conditions are an option instead, and part of the frame.
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
    """An expression that a table evaluates, and the columns of which its indexes could answer it
    alone; none where no index can."""

    filter: Any
    looked_up: frozenset[str]


def parse_where(engine: Engine, snapshot: Snapshot, entity: EntityType, text: str) -> Condition:
    """Conditions on ``$it`` as the table of the type evaluates them."""
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
    return Condition(found.pushed, _looked_up(wanted, columns))


def _looked_up(wanted: Any, columns: dict[str, str]) -> frozenset[str]:
    parts = list(nodes(wanted))
    for part in parts:
        is_part_of_text = isinstance(part, StringMatch) and part.op is not StringOp.STARTS_WITH
        if is_part_of_text or isinstance(part, Not):
            return frozenset()
    return frozenset(columns[part.prop] for part in parts if isinstance(part, PropertyRef))


def _condition(ir: ReadIR, slots: int) -> Any:
    """What is said about the one entity; nothing else may be said."""
    block = ir.match
    it = next(slot.slot for slot in block.slots if slot.name == "it")
    named = {node.slot for node in nodes(block.filters) if isinstance(node, PropertyRef)}
    if len(block.slots) != slots or named != {it} or ir.limit is not None or ir.order:
        raise InvalidInput(
            "source.bad_where",
            "where takes conditions on `$it` and nothing else",
            remedy='for more, give a whole query by .option("query", …)',
        )
    return block.filters[0] if len(block.filters) == 1 else And(tuple(block.filters))
