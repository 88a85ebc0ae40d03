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
from omnigraph.pipeline.checks.exchange import KEY, Feed, buckets_for, exchange
from omnigraph.pipeline.checks.exchange_inputs import (
    ADDRESS,
    IDENTITY,
    branch_feeds,
    key_feed,
    stored_feeds,
)
from omnigraph.pipeline.checks.findings import FACTS, Findings, fact_rows, find
from omnigraph.pipeline.scratch.job_context import Stored
from omnigraph.pipeline.scratch.row_chunks import RECORD, unpack
from omnigraph.pipeline.spark.tasks import map_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from omnigraph.pipeline.checks.exchange import Tables
    from omnigraph.pipeline.checks.exchange_inputs import Columns
    from omnigraph.pipeline.inputs.read_input import Material
    from omnigraph.pipeline.scratch.job_context import JobContext
    from omnigraph.pipeline.scratch.row_chunks import TypeChunk
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["FOUND_SCHEMA", "SOURCE", "Incoming"]

# The source of an edge; NULL for nodes.
SOURCE = "source"

_FOUND = (
    "what string, t int, id string, record bigint, last bigint, address bigint, row_id bigint, "
    "source string"
)
FOUND_SCHEMA = pa.schema(
    [
        ("what", pa.string()),
        ("t", pa.int32()),
        ("id", pa.string()),
        ("record", pa.int64()),
        ("last", pa.int64()),
        ("address", pa.int64()),
        ("row_id", pa.int64()),
        ("source", pa.string()),
    ]
)
_ID_AND_RECORD = {KEY: ID.column, RECORD: RECORD}


class Incoming:
    """The change that a load makes, type by type, against one snapshot."""

    def __init__(
        self,
        desk: JobContext,
        material: Material,
        snapshot: Snapshot,
        mode: Mode,
        rejected: Stored | None = None,
    ) -> None:
        self.desk = desk
        # The chunks as they were read, and with rows completed from this snapshot.
        self._read = material
        self.material = material
        # Types with rows that do not name every property.
        self.partial = frozenset(
            key for key in material.entities for _, part in material.rows(key) if part.is_partial
        )
        self.snapshot = snapshot
        self.mode = mode
        self._numbers = {key: number for number, key in enumerate(snapshot.catalog.types)}
        # Quarantined records.
        self.rejected = rejected or Stored()
        # Records that a later one about the same entity supersedes: rows under the number of their
        # type, deletions under its complement.
        self.repeats = Stored()
        # Rows whose id exists, with the address of the row that they replace.
        self.located = Stored()
        # Entities that the load deletes, with their addresses.
        self.gone = Stored()

    def without(self, bad: Stored) -> Incoming:
        """Return the same load without some more records, to be resolved again."""
        rejected = Stored(self.rejected.files + bad.files)
        return Incoming(self.desk, self._read, self.snapshot, self.mode, rejected)

    # --- what came in ---

    @property
    def entities(self) -> Iterable[EntityType]:
        return self.material.entities.values()

    def number(self, entity: EntityType | TypeId) -> int:
        """Return the number of a type in the catalog."""
        return self._numbers[entity if isinstance(entity, str) else entity.id]

    def count(self, type_id: TypeId) -> int:
        """Count the effective rows of a type."""
        number = self.number(type_id)
        read = sum(part.count for _, part in self.material.rows(type_id))
        return read - self.repeats.of(number).rows - self.rejected.of(number).rows

    @property
    def superseded(self) -> int:
        """Count the records that a later one about the same entity supersedes."""
        return self.repeats.rows if self.mode is Mode.MERGE else 0

    def is_overwritten(self, type_id: TypeId) -> bool:
        return self.mode is Mode.OVERWRITE and type_id in self.material.entities

    def is_changed(self, type_id: TypeId) -> bool:
        """Return whether the load changes a type."""
        return bool(
            self.is_overwritten(type_id) or self.count(type_id) or self.gone_of(type_id).rows
        )

    def branch_rows(self, type_id: TypeId) -> int:
        """Count the entities of a type on the branch."""
        return self.snapshot.manifest.pins[type_id].rows

    def gone_of(self, type_id: TypeId) -> Stored:
        return self.gone.of(self.number(type_id))

    def left_out(self, number: int, piece: int) -> tuple[str, ...]:
        """Return the files that list superseded or quarantined records of a chunk."""
        return self.repeats.keys_of(number, piece) + self.rejected.keys_of(number, piece)

    # --- feeds ---

    def rows(self, name: str, type_id: TypeId, columns: Columns) -> list[Feed]:
        """Return the effective rows of a type."""
        number = self.number(type_id)
        return [
            key_feed(name, part, columns, self.left_out(number, piece))
            for piece, part in self.material.rows(type_id)
        ]

    def branch(
        self, name: str, type_id: TypeId, columns: Columns, *, answers: bool = True
    ) -> list[Feed]:
        """Return the rows of a type on the branch; by default only those that others refer to."""
        if not self.branch_rows(type_id):
            return []
        return branch_feeds(name, self.snapshot.table(type_id), columns, answers=answers)

    # --- which records count, and what the branch has of them ---

    def resolve(self) -> frozenset[TypeId]:
        """Find repeats, existing ids and deletions; return the types read."""
        feeds = [feed for entity in self.entities for feed in self._identity_feeds(entity)]
        if not feeds:
            return frozenset()
        found = exchange(self.desk.spark, self.desk.site, feeds, _identify, _FOUND)
        kept = self.desk.store(found, parts=buckets_for(feeds))
        self.repeats = kept.get("repeat", Stored())
        self.located = kept.get("located", Stored())
        self.gone = kept.get("gone", Stored())
        deleting = [entity.id for entity in self.entities if self.material.deletes(entity.id)]
        return frozenset(deleting) | self._cascade(deleting)

    def complete(self, chunks: Mapping[tuple[int, TypeId], TypeChunk]) -> None:
        """Read completed chunks in place of those that were read."""
        self.material = self._read.replacing(chunks)

    def repeated_facts(self) -> Findings:
        """Return repeats as violations, except in a merge, where the last record wins."""
        if self.mode is Mode.MERGE or not self.repeats.rows:
            return Findings()
        keys = [file.key for file in self.repeats.files]
        frame = map_tasks(self.desk.spark, keys, partial(_read_repeats, self.desk.site), FACTS)
        return find(self.desk, frame)

    def _identity_feeds(self, entity: EntityType) -> list[Feed]:
        number = self.number(entity)
        deletes = self.material.deletes(entity.id)
        if self.material.is_minted(entity.id) and not deletes:
            # Generated ids neither repeat nor exist.
            return []
        feeds = [
            key_feed(f"rows {number}", part, _ID_AND_RECORD, self.rejected.keys_of(number, piece))
            for piece, part in self.material.rows(entity.id)
        ]
        feeds += [key_feed(f"deletes {number}", part, _ID_AND_RECORD, ()) for _, part in deletes]
        places = {KEY: ID.column, ADDRESS: ADDRESS, IDENTITY: IDENTITY}
        if isinstance(entity, EdgeType):
            places[SOURCE] = SRC.column
        return feeds + self.branch(f"branch {number}", entity.id, places)

    def _cascade(self, deleting: Sequence[TypeId]) -> frozenset[TypeId]:
        """Delete the edges of deleted nodes; return the types read."""
        types = self.snapshot.catalog.types
        nodes = [types[key] for key in deleting if isinstance(types[key], NodeType)]
        incident = {
            edge.id: edge
            for node in nodes
            for edge in self.snapshot.catalog.incident_edges(node.id)
        }
        touched = self._touched([node for node in nodes if self.gone_of(node.id).rows])
        if touched.rows:
            self._add_gone(touched)
        return frozenset(incident)

    def _touched(self, nodes: Sequence[EntityType]) -> Stored:
        """Return the edges of the branch that end at a deleted node."""
        feeds = []
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
                feeds += [*ends, *stored_feeds(gone, self.gone_of(node.id), {KEY: "id"})]
        if not feeds:
            return Stored()
        found = exchange(self.desk.spark, self.desk.site, feeds, _find_touched, _FOUND)
        return self.desk.store(found, parts=buckets_for(feeds)).get("gone", Stored())

    def _add_gone(self, touched: Stored) -> None:
        """Add deleted edges once, except those that the load writes again."""
        edges = {file.t for file in touched.files}
        nodes = tuple(file for file in self.gone.files if file.t not in edges)
        columns = {KEY: "id", ADDRESS: ADDRESS, SOURCE: SOURCE}
        feeds = []
        for key, number in self._numbers.items():
            if number in edges:
                named = Stored(touched.of(number).files + self.gone.of(number).files)
                feeds += stored_feeds(f"going {number}", named, columns)
                feeds += self.rows(f"rows {number}", key, {KEY: ID.column})
        found = exchange(self.desk.spark, self.desk.site, feeds, _find_going, _FOUND)
        kept = self.desk.store(found, parts=buckets_for(feeds)).get("gone", Stored())
        self.gone = Stored(nodes + kept.files)


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


def _read_repeats(site: GraphLocation, key: str) -> Iterator[pa.RecordBatch]:
    rows = unpack(site, key)
    for t in pc.unique(rows.column("t")).to_pylist():
        found = rows.filter(pc.equal(rows.column("t"), t))
        columns = {"id": found.column("id"), "number": found.column("last")}
        yield from fact_rows("repeat", t, found.num_rows, record=found.column(RECORD), **columns)


def _without(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    keep = np.ones(rows.num_rows, dtype=bool)
    keep[positions] = False
    return rows.filter(pa.array(keep))


def _found(what: str, rows: pa.Table, number: int | None = None) -> Iterator[pa.RecordBatch]:
    """Build rows in ``FOUND_SCHEMA``; without a column ``id``, the key is the id."""
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
        for field in FOUND_SCHEMA
    ]
    table = pa.Table.from_arrays(arrays, schema=FOUND_SCHEMA)
    yield from table.combine_chunks().to_batches()
