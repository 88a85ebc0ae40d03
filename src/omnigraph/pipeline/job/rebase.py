"""Rebase of a load: validation on a later snapshot looks at the difference only.

Others committed while the load was prepared. The files of a table show which of its rows differ,
without reading the common ones. If no differing row concerns the load, the validation still holds,
and the staged files still fit. If rows that the load replaces were added, deleted or deltas, their
addresses are corrected. Everything else needs a new validation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, TypeId
from omnigraph.frozen import frozen
from omnigraph.integrity.rules import Cardinality, Unique, rules_of
from omnigraph.pipeline.checks.exchange_inputs import ADDRESS, key_text
from omnigraph.pipeline.checks.load_change import RESOLVED_SCHEMA, SOURCE, LoadChange
from omnigraph.pipeline.scratch.job_context import ScratchFile, StoredRows
from omnigraph.pipeline.scratch.row_chunks import (
    RECORD,
    chunk_of,
    key_properties,
    key_table,
    read_effective,
    read_scratch,
    write_scratch,
)
from omnigraph.pipeline.spark.tasks import collect, map_tasks
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import EntityType
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.ports.tables import RowSet, Table
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["rebase"]

# Above so many rows, a new validation is cheaper.
_ROWS_MAX = 200_000
_OVERLAPS_DDL = "what string, t int, id string, record bigint"


@frozen
class TableDelta:
    """The rows of one table that only the older, and that only the newer version has."""

    before: pa.Table
    after: pa.Table

    @property
    def ids(self) -> pa.Array:
        return _texts(self.before, self.after, column=ID.column)

    @property
    def lost(self) -> pa.Array:
        """Return the ids of entities that the newer version no longer has."""
        before, after = _texts(self.before, column="id"), _texts(self.after, column="id")
        return before.filter(pc.invert(pc.is_in(before, value_set=after)))


@frozen
class Overlap:
    """A record that the difference concerns, and the rule by which it does."""

    what: str
    t: int
    id: str
    record: int

    @property
    def owner(self) -> tuple[int, int]:
        """Return the type number and the chunk of the record."""
        return self.t, chunk_of(self.record)[0]


def rebase(
    validated: LoadChange, snapshot: Snapshot, reads: frozenset[TypeId]
) -> LoadChange | None:
    """Return the load on a later snapshot; None if it needs a new validation."""
    read_input = validated.read_input
    if validated.mode is Mode.OVERWRITE or any(
        read_input.deletes(key) for key in read_input.entities
    ):
        return None
    deltas = _difference(validated.snapshot, snapshot, reads | frozenset(read_input.entities))
    if deltas is None:
        return None
    if validated.partial & deltas.keys():
        # Rows inherit values of the older version.
        return None
    overlaps = _find_overlaps(validated, deltas)
    if any(overlap.what != "id" for overlap in overlaps):
        return None
    located = _relocate(validated, deltas, overlaps)
    if validated.mode is Mode.APPEND and located.rows:
        return None
    rebased = LoadChange(
        validated.context, read_input, snapshot, validated.mode, validated.rejected
    )
    rebased.repeats, rebased.located = validated.repeats, located
    rebased.partial = validated.partial
    return rebased


# --- differences -------------------------------------------------------------------------------


def _difference(
    old: Snapshot, new: Snapshot, types: frozenset[TypeId]
) -> dict[TypeId, TableDelta] | None:
    """Compute the difference of some tables between two snapshots; None if it is too large."""
    found: dict[TypeId, TableDelta] = {}
    left = _ROWS_MAX
    for key in sorted(types):
        before, after = old.manifest.pins[key], new.manifest.pins[key]
        if before.fingerprint == after.fingerprint:
            continue
        gone, came = new.root.tables.differing_rows(before, after)
        left -= gone.count + came.count
        if left < 0:
            return None
        entity = new.catalog.types[key]
        found[key] = TableDelta(
            _read(old.table(key), gone, entity), _read(new.table(key), came, entity)
        )
    return found


def _read(table: Table, rows: RowSet, entity: EntityType) -> pa.Table:
    columns = [prop.column for prop in key_properties(entity)]
    schema = pa.schema(
        [
            *(table.schema.field(name) for name in columns),
            pa.field(ROW_ADDRESS, pa.uint64()),
        ]
    )
    batches = list(table.read(rows, columns)) if rows.count else []
    read = pa.concat_tables(
        [schema.empty_table(), *(pa.table(batch).select(schema.names) for batch in batches)],
        promote_options="permissive",
    )
    found = key_table(entity, read)
    return found.append_column(ADDRESS, read.column(ROW_ADDRESS).cast(pa.int64()))


# --- overlaps with the load --------------------------------------------------------------------


@frozen
class RebaseCheck:
    """A check whether some columns of the load, encoded as one text, occur among some texts."""

    what: str
    columns: tuple[str, ...]
    texts: pa.Array


@dataclass(slots=True)
class _OverlapChecks:
    """The checks on each type."""

    by_type: dict[TypeId, list[RebaseCheck]] = field(default_factory=dict)

    def ask(self, type_id: TypeId, what: str, columns: tuple[str, ...], texts: pa.Array) -> None:
        if len(texts):
            self.by_type.setdefault(type_id, []).append(RebaseCheck(what, columns, texts))


def _find_overlaps(validated: LoadChange, deltas: Mapping[TypeId, TableDelta]) -> list[Overlap]:
    """Run the checks on the records of the load."""
    checks = _OverlapChecks()
    for key, entity in validated.read_input.entities.items():
        if validated.count(key):
            _add_checks(checks, validated, entity, deltas)
    items = [
        (
            validated.number(key),
            part.keys,
            validated.excluded(validated.number(key), chunk),
            tuple(asked),
        )
        for key, asked in checks.by_type.items()
        for chunk, part in validated.read_input.rows(key)
    ]
    if not items:
        return []
    context = validated.context
    found = collect(
        map_tasks(context.spark, items, partial(_run_checks, context.location), _OVERLAPS_DDL)
    )
    return [Overlap(**row) for row in found.to_pylist()]


def _add_checks(
    checks: _OverlapChecks,
    validated: LoadChange,
    entity: EntityType,
    deltas: Mapping[TypeId, TableDelta],
) -> None:
    own = deltas.get(entity.id)
    if own is not None and not validated.read_input.has_generated_ids(entity.id):
        checks.ask(entity.id, "id", (ID.column,), own.ids)
    for rule in rules_of(entity):
        if isinstance(rule, Unique) and own is not None:
            members = tuple(member.column for member in rule.members)
            checks.ask(entity.id, "unique", members, _key_texts(own.after, members))
    if not isinstance(entity, EdgeType):
        _add_source_checks(checks, validated, entity.id, deltas)
        return
    for end, node in ((SRC, entity.source), (DST, entity.target)):
        if node in deltas:
            checks.ask(entity.id, "endpoint", (end.column,), deltas[node].lost)
    if own is not None and any(isinstance(rule, Cardinality) for rule in rules_of(entity)):
        sources = _texts(own.before, own.after, column=SRC.column)
        checks.ask(entity.id, "cardinality", (SRC.column,), sources)


def _add_source_checks(
    checks: _OverlapChecks, validated: LoadChange, node: TypeId, deltas: Mapping[TypeId, TableDelta]
) -> None:
    """Check new nodes with a minimum number of edges, while others change such edges."""
    for edge in validated.snapshot.catalog.edges:
        if edge.source == node and edge.card_low > 0 and edge.id in deltas:
            sources = _texts(deltas[edge.id].before, deltas[edge.id].after, column=SRC.column)
            checks.ask(node, "cardinality", (ID.column,), sources)


def _run_checks(
    location: GraphLocation, item: tuple[int, str, tuple[str, ...], tuple[RebaseCheck, ...]]
) -> Iterator[pa.RecordBatch]:
    """On an executor: return the records of one chunk that a check matches."""
    t, key, excluded, checks = item
    rows = read_effective(location, key, excluded)
    for check in checks:
        texts = key_text(rows, check.columns)
        overlaps = rows.filter(pc.is_in(texts, value_set=check.texts, skip_nulls=True))
        yield from pa.table(
            {
                "what": pa.repeat(check.what, overlaps.num_rows),
                "t": pa.repeat(pa.scalar(t, pa.int32()), overlaps.num_rows),
                "id": overlaps.column(ID.column),
                "record": overlaps.column(RECORD),
            }
        ).to_batches()


# --- addresses of replaced rows ----------------------------------------------------------------


def _relocate(
    validated: LoadChange, deltas: Mapping[TypeId, TableDelta], overlaps: list[Overlap]
) -> StoredRows:
    """Return the rows whose id exists, with their current addresses."""
    if not overlaps:
        return validated.located
    by_type = {validated.number(key): found.after for key, found in deltas.items()}
    files = list(validated.located.files)
    for t, chunk in sorted({overlap.owner for overlap in overlaps}):
        mine = [overlap for overlap in overlaps if overlap.owner == (t, chunk)]
        old = [file for file in files if (file.t, file.chunk) == (t, chunk)]
        files = [file for file in files if file not in old]
        rows = _corrected(validated, old, mine, t, by_type[t])
        if rows.num_rows:
            key = f"{validated.context.scratch()}.{new_short_id()}"
            write_scratch(validated.context.location, key, rows)
            files.append(ScratchFile(key, rows.num_rows, "located", t, chunk))
    return StoredRows(tuple(files))


def _corrected(
    validated: LoadChange, old: list[ScratchFile], overlaps: list[Overlap], t: int, after: pa.Table
) -> pa.Table:
    rows = pa.concat_tables(
        [
            RESOLVED_SCHEMA.empty_table(),
            *(read_scratch(validated.context.location, file.key) for file in old),
        ]
    )
    records = pa.array([overlap.record for overlap in overlaps], pa.int64())
    rows = rows.filter(pc.invert(pc.is_in(rows.column(RECORD), value_set=records)))
    ids = pa.array([overlap.id for overlap in overlaps], pa.string())
    at = pc.index_in(ids, value_set=_texts(after, column=ID.column))
    here, places = at.is_valid(), after.take(at.drop_null())
    count = places.num_rows
    source = places.column(SRC.column) if SRC.column in places.column_names else pa.nulls(count)
    fresh = pa.table(
        {
            "what": pa.repeat("located", count),
            "t": pa.repeat(t, count),
            "id": ids.filter(here),
            RECORD: records.filter(here),
            "last": pa.nulls(count),
            ADDRESS: places.column(ADDRESS),
            SOURCE: source,
        }
    )
    return pa.concat_tables([rows, fresh.cast(RESOLVED_SCHEMA)]).sort_by(RECORD)


def _texts(*tables: pa.Table, column: str) -> pa.Array:
    chunks = [chunk for table in tables for chunk in table.column(column).chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


def _key_texts(rows: pa.Table, columns: tuple[str, ...]) -> pa.Array:
    return pa.concat_arrays(
        [pa.array([], pa.string()), *key_text(rows, columns).drop_null().chunks]
    )
