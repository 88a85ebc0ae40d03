"""The change of a load by type: records to apply, entities to delete, rows that exist.

The same as ``loading.deduplicate``, ``changeset.cascade`` and ``integrity.lookup`` for rows that no
single process holds; tests/pipeline runs both on the same batches.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, EntityType, NodeType, TypeId
from omnigraph.integrity.keys import repeated
from omnigraph.pipeline.checks.exchange import KEY, ExchangeInput, buckets_for, exchange
from omnigraph.pipeline.checks.exchange_inputs import (
    ADDRESS,
    branch_inputs,
    key_input,
    stored_inputs,
)
from omnigraph.pipeline.checks.findings import (
    FINDINGS_DDL,
    Findings,
    collect_findings,
    finding_rows,
    read_by_type,
)
from omnigraph.pipeline.scratch.job_context import StoredRows
from omnigraph.pipeline.scratch.row_chunks import RECORD
from omnigraph.pipeline.spark.tasks import map_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from omnigraph.pipeline.checks.exchange import Tables
    from omnigraph.pipeline.checks.exchange_inputs import Columns
    from omnigraph.pipeline.inputs.read_input import ReadInput
    from omnigraph.pipeline.scratch.job_context import JobContext
    from omnigraph.pipeline.scratch.row_chunks import TypeChunk
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["RESOLVED_SCHEMA", "SOURCE", "LoadChange"]

# The source of an edge; NULL for nodes.
SOURCE = "source"

_RESOLVED_DDL = (
    "what string, t int, id string, record bigint, last bigint, address bigint, source string"
)
RESOLVED_SCHEMA = pa.schema(
    [
        ("what", pa.string()),
        ("t", pa.int32()),
        ("id", pa.string()),
        ("record", pa.int64()),
        ("last", pa.int64()),
        ("address", pa.int64()),
        ("source", pa.string()),
    ]
)
_ID_AND_RECORD = {KEY: ID.column, RECORD: RECORD}


class LoadChange:
    """The change that a load makes, type by type, against one snapshot."""

    def __init__(
        self,
        context: JobContext,
        read_input: ReadInput,
        snapshot: Snapshot,
        mode: Mode,
        rejected: StoredRows | None = None,
    ) -> None:
        self.context = context
        # The chunks as they were read, and with rows completed from this snapshot.
        self._read = read_input
        self.read_input = read_input
        # Types with rows that do not name every property.
        self.partial = frozenset(
            key
            for key in read_input.entities
            for _, part in read_input.rows(key)
            if part.is_partial
        )
        self.snapshot = snapshot
        self.mode = mode
        self._numbers = {key: number for number, key in enumerate(snapshot.catalog.types)}
        # Quarantined records.
        self.rejected = rejected or StoredRows()
        # Records that a later one about the same entity supersedes: rows under the number of their
        # type, deletions under its complement.
        self.repeats = StoredRows()
        # Rows whose id exists, with the address of the row that they replace.
        self.located = StoredRows()
        # Entities that the load deletes, with their addresses.
        self.deletions = StoredRows()

    def without(self, bad: StoredRows) -> LoadChange:
        """Return the same load without some more records, to be resolved again."""
        rejected = StoredRows(self.rejected.files + bad.files)
        return LoadChange(self.context, self._read, self.snapshot, self.mode, rejected)

    # --- the input ---

    @property
    def entities(self) -> Iterable[EntityType]:
        return self.read_input.entities.values()

    def number(self, entity: EntityType | TypeId) -> int:
        """Return the number of a type in the catalog."""
        return self._numbers[entity if isinstance(entity, str) else entity.id]

    def count(self, type_id: TypeId) -> int:
        """Count the effective rows of a type."""
        number = self.number(type_id)
        read = sum(part.count for _, part in self.read_input.rows(type_id))
        return read - self.repeats.of(number).rows - self.rejected.of(number).rows

    @property
    def superseded(self) -> int:
        """Count the records that a later one about the same entity supersedes."""
        return self.repeats.rows if self.mode is Mode.MERGE else 0

    def is_overwritten(self, type_id: TypeId) -> bool:
        return self.mode is Mode.OVERWRITE and type_id in self.read_input.entities

    def is_changed(self, type_id: TypeId) -> bool:
        """Return whether the load changes a type."""
        return bool(
            self.is_overwritten(type_id) or self.count(type_id) or self.deletions_of(type_id).rows
        )

    def branch_rows(self, type_id: TypeId) -> int:
        """Count the entities of a type on the branch."""
        return self.snapshot.manifest.pins[type_id].rows

    def deletions_of(self, type_id: TypeId) -> StoredRows:
        return self.deletions.of(self.number(type_id))

    def excluded(self, number: int, chunk: int) -> tuple[str, ...]:
        """Return the files that list superseded or quarantined records of a chunk."""
        return self.repeats.keys_of(number, chunk) + self.rejected.keys_of(number, chunk)

    # --- inputs ---

    def rows(self, name: str, type_id: TypeId, columns: Columns) -> list[ExchangeInput]:
        """Return the effective rows of a type."""
        number = self.number(type_id)
        return [
            key_input(name, part, columns, self.excluded(number, chunk))
            for chunk, part in self.read_input.rows(type_id)
        ]

    def branch(
        self, name: str, type_id: TypeId, columns: Columns, *, semi_join: bool = True
    ) -> list[ExchangeInput]:
        """Return the rows of a type on the branch; by default only those that others refer to."""
        if not self.branch_rows(type_id):
            return []
        return branch_inputs(name, self.snapshot.table(type_id), columns, semi_join=semi_join)

    # --- resolution ---

    def resolve(self) -> frozenset[TypeId]:
        """Find repeats, existing ids and deletions; return the types read."""
        inputs = [item for entity in self.entities for item in self._identity_inputs(entity)]
        if not inputs:
            return frozenset()
        found = exchange(
            self.context.spark, self.context.location, inputs, _identify, _RESOLVED_DDL
        )
        kept = self.context.store(found, parts=buckets_for(inputs))
        self.repeats = kept.get("repeat", StoredRows())
        self.located = kept.get("located", StoredRows())
        self.deletions = kept.get("gone", StoredRows())
        deleting = [entity.id for entity in self.entities if self.read_input.deletes(entity.id)]
        return frozenset(deleting) | self._cascade(deleting)

    def complete(self, chunks: Mapping[tuple[int, TypeId], TypeChunk]) -> None:
        """Read completed chunks in place of those that were read."""
        self.read_input = self._read.replacing(chunks)

    def repeated_facts(self) -> Findings:
        """Return repeats as violations, except in a merge, where the last record wins."""
        if self.mode is Mode.MERGE or not self.repeats.rows:
            return Findings()
        keys = [file.key for file in self.repeats.files]
        frame = map_tasks(
            self.context.spark, keys, partial(_read_repeats, self.context.location), FINDINGS_DDL
        )
        return collect_findings(self.context, frame)

    def _identity_inputs(self, entity: EntityType) -> list[ExchangeInput]:
        number = self.number(entity)
        deletes = self.read_input.deletes(entity.id)
        if self.read_input.has_generated_ids(entity.id) and not deletes:
            # Generated ids neither repeat nor exist.
            return []
        inputs = [
            key_input(f"rows {number}", part, _ID_AND_RECORD, self.rejected.keys_of(number, chunk))
            for chunk, part in self.read_input.rows(entity.id)
        ]
        inputs += [key_input(f"deletes {number}", part, _ID_AND_RECORD, ()) for _, part in deletes]
        places = {KEY: ID.column, ADDRESS: ADDRESS}
        if isinstance(entity, EdgeType):
            places[SOURCE] = SRC.column
        return inputs + self.branch(f"branch {number}", entity.id, places)

    def _cascade(self, deleting: Sequence[TypeId]) -> frozenset[TypeId]:
        """Delete the edges of deleted nodes; return the types read."""
        types = self.snapshot.catalog.types
        nodes = [types[key] for key in deleting if isinstance(types[key], NodeType)]
        incident = {
            edge.id: edge
            for node in nodes
            for edge in self.snapshot.catalog.incident_edges(node.id)
        }
        touched = self._touched([node for node in nodes if self.deletions_of(node.id).rows])
        if touched.rows:
            self._add_gone(touched)
        return frozenset(incident)

    def _touched(self, nodes: Sequence[EntityType]) -> StoredRows:
        """Return the edges of the branch that end at a deleted node."""
        inputs = []
        for node in nodes:
            gone = f"gone {self.number(node)}"
            ends = []
            for edge in self.snapshot.catalog.incident_edges(node.id):
                for end, node_type in ((SRC, edge.source), (DST, edge.target)):
                    if node_type == node.id:
                        name = f"end {self.number(edge)} {self.number(node)}"
                        columns = {
                            KEY: end.column,
                            "id": ID.column,
                            ADDRESS: ADDRESS,
                            SOURCE: SRC.column,
                        }
                        ends += self.branch(name, edge.id, columns)
            if ends:
                inputs += [*ends, *stored_inputs(gone, self.deletions_of(node.id), {KEY: "id"})]
        if not inputs:
            return StoredRows()
        found = exchange(
            self.context.spark, self.context.location, inputs, _find_touched, _RESOLVED_DDL
        )
        return self.context.store(found, parts=buckets_for(inputs)).get("gone", StoredRows())

    def _add_gone(self, touched: StoredRows) -> None:
        """Add deleted edges once, except those that the load writes again."""
        edges = {file.t for file in touched.files}
        nodes = tuple(file for file in self.deletions.files if file.t not in edges)
        columns = {KEY: "id", ADDRESS: ADDRESS, SOURCE: SOURCE}
        inputs = []
        for key, number in self._numbers.items():
            if number in edges:
                named = StoredRows(touched.of(number).files + self.deletions.of(number).files)
                inputs += stored_inputs(f"going {number}", named, columns)
                inputs += self.rows(f"rows {number}", key, {KEY: ID.column})
        found = exchange(
            self.context.spark, self.context.location, inputs, _find_going, _RESOLVED_DDL
        )
        kept = self.context.store(found, parts=buckets_for(inputs)).get("gone", StoredRows())
        self.deletions = StoredRows(nodes + kept.files)


# --- on executors: one bucket at a time ----------------------------------------------------------


def _identify(_: GraphLocation, tables: Tables) -> Iterator[pa.RecordBatch]:
    """Find repeats and existing entities among the records of a bucket."""
    for number in sorted({int(name.split()[1]) for name in tables}):
        # Rows have the number of their type, deletions its complement.
        said = [
            tables[name].append_column("t", pa.repeat(t, tables[name].num_rows))
            for name, t in ((f"rows {number}", number), (f"deletes {number}", ~number))
            if name in tables
        ]
        if not said:
            continue
        records = pa.concat_tables(said).sort_by(RECORD)
        earlier, winners = repeated(records.select([KEY]))
        last = records.column(RECORD).take(pa.array(winners))
        yield from _found("repeat", records.take(pa.array(earlier)).append_column("last", last))
        branch = tables.get(f"branch {number}")
        if branch is not None:
            yield from _locate(number, _without(records, earlier), branch)


def _locate(number: int, records: pa.Table, branch: pa.Table) -> Iterator[pa.RecordBatch]:
    existing = branch.column(KEY).combine_chunks()
    at = pc.index_in(records.column(KEY), value_set=existing).combine_chunks()
    records, places = records.filter(at.is_valid()), branch.take(at.drop_null())
    for name in places.drop([KEY]).column_names:
        records = records.append_column(name, places.column(name))
    is_row = pc.equal(records.column("t"), number)
    yield from _found("located", records.filter(is_row))
    # A deletion refers to an entity of the branch and needs no record number.
    going = records.filter(pc.invert(is_row)).drop(["t", RECORD])
    yield from _found("gone", going, number)


def _find_touched(_: GraphLocation, tables: Tables) -> Iterator[pa.RecordBatch]:
    for name, ends in tables.items():
        if name.startswith("end"):
            edge, node = name.split()[1:]
            gone = tables.get(f"gone {node}")
            if gone is not None:
                hit = pc.is_in(ends.column(KEY), value_set=gone.column(KEY).combine_chunks())
                yield from _found("gone", ends.filter(hit), int(edge))


def _find_going(_: GraphLocation, tables: Tables) -> Iterator[pa.RecordBatch]:
    for name, going in tables.items():
        if name.startswith("going"):
            number = name.split()[1]
            earlier, _winners = repeated(going.select([KEY]))
            left = _without(going, earlier)
            written = tables.get(f"rows {number}")
            if written is not None:
                again = pc.is_in(left.column(KEY), value_set=written.column(KEY).combine_chunks())
                left = left.filter(pc.invert(again))
            yield from _found("gone", left, int(number))


def _read_repeats(location: GraphLocation, key: str) -> Iterator[pa.RecordBatch]:
    for t, found in read_by_type(location, key):
        columns = {"id": found.column("id"), "number": found.column("last")}
        yield from finding_rows("repeat", t, found.num_rows, record=found.column(RECORD), **columns)


def _without(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    keep = np.ones(rows.num_rows, dtype=bool)
    keep[positions] = False
    return rows.filter(pa.array(keep))


def _found(what: str, rows: pa.Table, number: int | None = None) -> Iterator[pa.RecordBatch]:
    """Build rows in ``RESOLVED_SCHEMA``; without a column ``id``, the key is the id."""
    if not rows.num_rows:
        return
    columns = {"id": rows.column(KEY)} | {name: rows.column(name) for name in rows.column_names}
    columns["what"] = pa.repeat(what, rows.num_rows)
    if number is not None:
        columns["t"] = pa.repeat(number, rows.num_rows)
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(rows.num_rows, field.type)
        for field in RESOLVED_SCHEMA
    ]
    table = pa.Table.from_arrays(arrays, schema=RESOLVED_SCHEMA)
    yield from table.combine_chunks().to_batches()
