"""Rebase of a load: validation on a later snapshot looks at the difference only.

Others committed while the load was prepared. The files of a table show which of its rows differ,
without reading the common ones. If no differing row concerns the load, the validation still holds,
and the staged files still fit. If rows that the load replaces were added, deleted or moved, their
addresses are corrected. Everything else needs a new validation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import DST, ID, SRC, EdgeType, TypeId
from omnigraph.frozen import frozen
from omnigraph.integrity.rules import Cardinality, Unique, rules_of
from omnigraph.pipeline.checks.exchange_inputs import ADDRESS, IDENTITY, spelled
from omnigraph.pipeline.checks.load_change import FOUND_SCHEMA, SOURCE, Incoming
from omnigraph.pipeline.scratch.job_context import File, Stored
from omnigraph.pipeline.scratch.row_chunks import (
    RECORD,
    key_properties,
    key_table,
    pack,
    piece_of,
    unpack,
)
from omnigraph.pipeline.spark.tasks import collect, map_tasks
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID
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
_HITS = "what string, t int, id string, record bigint"


@frozen
class Moved:
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
class Hit:
    """A record that the difference concerns, and the rule by which it does."""

    what: str
    t: int
    id: str
    record: int

    @property
    def owner(self) -> tuple[int, int]:
        """Return the type number and the chunk of the record."""
        return self.t, piece_of(self.record)[0]


def rebase(judged: Incoming, snapshot: Snapshot, reads: frozenset[TypeId]) -> Incoming | None:
    """Return the load on a later snapshot; None if it needs a new validation."""
    material = judged.material
    if judged.mode is Mode.OVERWRITE or any(material.deletes(key) for key in material.entities):
        return None
    moved = _difference(judged.snapshot, snapshot, reads | frozenset(material.entities))
    if moved is None:
        return None
    if judged.partial & moved.keys():
        # Rows inherit values of the older version.
        return None
    hits = _probe(judged, moved)
    if any(hit.what != "id" for hit in hits):
        return None
    located = _relocated(judged, moved, hits)
    if judged.mode is Mode.APPEND and located.rows:
        return None
    rebased = Incoming(judged.desk, material, snapshot, judged.mode, judged.rejected)
    rebased.repeats, rebased.located = judged.repeats, located
    rebased.partial = judged.partial
    return rebased


# --- what differs ------------------------------------------------------------------------------


def _difference(
    old: Snapshot, new: Snapshot, types: frozenset[TypeId]
) -> dict[TypeId, Moved] | None:
    """Compute the difference of some tables between two snapshots; None if it is too large."""
    found: dict[TypeId, Moved] = {}
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
        found[key] = Moved(_read(old.table(key), gone, entity), _read(new.table(key), came, entity))
    return found


def _read(table: Table, rows: RowSet, entity: EntityType) -> pa.Table:
    columns = [prop.column for prop in key_properties(entity)]
    schema = pa.schema(
        [
            *(table.schema.field(name) for name in columns),
            pa.field(ROW_ID, pa.uint64()),
            pa.field(ROW_ADDRESS, pa.uint64()),
        ]
    )
    batches = list(table.read(rows, columns, row_ids=True)) if rows.count else []
    read = pa.concat_tables(
        [schema.empty_table(), *(pa.table(batch).select(schema.names) for batch in batches)],
        promote_options="permissive",
    )
    found = key_table(entity, read)
    found = found.append_column(ADDRESS, read.column(ROW_ADDRESS).cast(pa.int64()))
    return found.append_column(IDENTITY, read.column(ROW_ID).cast(pa.int64()))


# --- whether it concerns the load --------------------------------------------------------------


@frozen
class RebaseCheck:
    """A check whether some columns of the load, encoded as one text, occur among some texts."""

    what: str
    columns: tuple[str, ...]
    texts: pa.Array


@dataclass(slots=True)
class _Questions:
    """The checks on each type."""

    by_type: dict[TypeId, list[RebaseCheck]] = field(default_factory=dict)

    def ask(self, type_id: TypeId, what: str, columns: tuple[str, ...], texts: pa.Array) -> None:
        if len(texts):
            self.by_type.setdefault(type_id, []).append(RebaseCheck(what, columns, texts))


def _probe(judged: Incoming, moved: Mapping[TypeId, Moved]) -> list[Hit]:
    """Run the checks on the records of the load."""
    questions = _Questions()
    for key, entity in judged.material.entities.items():
        if judged.count(key):
            _ask_about(questions, judged, entity, moved)
    items = [
        (judged.number(key), part.keys, judged.left_out(judged.number(key), piece), tuple(asked))
        for key, asked in questions.by_type.items()
        for piece, part in judged.material.rows(key)
    ]
    if not items:
        return []
    desk = judged.desk
    found = collect(map_tasks(desk.spark, items, partial(_answer, desk.site), _HITS))
    return [Hit(**row) for row in found.to_pylist()]


def _ask_about(
    questions: _Questions, judged: Incoming, entity: EntityType, moved: Mapping[TypeId, Moved]
) -> None:
    own = moved.get(entity.id)
    if own is not None and not judged.material.is_minted(entity.id):
        questions.ask(entity.id, "id", (ID.column,), own.ids)
    for rule in rules_of(entity):
        if isinstance(rule, Unique) and own is not None:
            members = tuple(member.column for member in rule.members)
            questions.ask(entity.id, "unique", members, _spelled(own.after, members))
    if not isinstance(entity, EdgeType):
        _ask_about_sources(questions, judged, entity.id, moved)
        return
    for end, node in ((SRC, entity.source), (DST, entity.target)):
        if node in moved:
            questions.ask(entity.id, "endpoint", (end.column,), moved[node].lost)
    if own is not None and any(isinstance(rule, Cardinality) for rule in rules_of(entity)):
        sources = _texts(own.before, own.after, column=SRC.column)
        questions.ask(entity.id, "cardinality", (SRC.column,), sources)


def _ask_about_sources(
    questions: _Questions, judged: Incoming, node: TypeId, moved: Mapping[TypeId, Moved]
) -> None:
    """Check new nodes with a minimum number of edges, while others change such edges."""
    for edge in judged.snapshot.catalog.edges:
        if edge.source == node and edge.card_low > 0 and edge.id in moved:
            sources = _texts(moved[edge.id].before, moved[edge.id].after, column=SRC.column)
            questions.ask(node, "cardinality", (ID.column,), sources)


def _answer(
    site: GraphLocation, item: tuple[int, str, tuple[str, ...], tuple[RebaseCheck, ...]]
) -> Iterator[pa.RecordBatch]:
    """On an executor: return the records of one chunk that a check matches."""
    t, key, left_out, questions = item
    rows = unpack(site, key)
    if left_out:
        void = np.concatenate([unpack(site, file).column(RECORD).to_numpy() for file in left_out])
        rows = rows.filter(pa.array(~np.isin(rows.column(RECORD).to_numpy(), void)))
    for question in questions:
        texts = spelled(rows, question.columns)
        hits = rows.filter(pc.is_in(texts, value_set=question.texts, skip_nulls=True))
        yield from pa.table(
            {
                "what": pa.repeat(question.what, hits.num_rows),
                "t": pa.repeat(pa.scalar(t, pa.int32()), hits.num_rows),
                "id": hits.column(ID.column),
                "record": hits.column(RECORD),
            }
        ).to_batches()


# --- where replaced rows are now ---------------------------------------------------------------


def _relocated(judged: Incoming, moved: Mapping[TypeId, Moved], hits: list[Hit]) -> Stored:
    """Return the rows whose id exists, with their current addresses."""
    if not hits:
        return judged.located
    by_type = {judged.number(key): found.after for key, found in moved.items()}
    files = list(judged.located.files)
    for t, piece in sorted({hit.owner for hit in hits}):
        mine = [hit for hit in hits if hit.owner == (t, piece)]
        old = [file for file in files if (file.t, file.piece) == (t, piece)]
        files = [file for file in files if file not in old]
        rows = _corrected(judged, old, mine, t, by_type[t])
        if rows.num_rows:
            key = f"{judged.desk.scratch()}.{new_short_id()}"
            pack(judged.desk.site, key, rows)
            files.append(File(key, rows.num_rows, "located", t, piece))
    return Stored(tuple(files))


def _corrected(
    judged: Incoming, old: list[File], hits: list[Hit], t: int, after: pa.Table
) -> pa.Table:
    rows = pa.concat_tables(
        [FOUND_SCHEMA.empty_table(), *(unpack(judged.desk.site, file.key) for file in old)]
    )
    records = pa.array([hit.record for hit in hits], pa.int64())
    rows = rows.filter(pc.invert(pc.is_in(rows.column(RECORD), value_set=records)))
    ids = pa.array([hit.id for hit in hits], pa.string())
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
            IDENTITY: places.column(IDENTITY),
            SOURCE: source,
        }
    )
    return pa.concat_tables([rows, fresh.cast(FOUND_SCHEMA)]).sort_by(RECORD)


def _texts(*tables: pa.Table, column: str) -> pa.Array:
    chunks = [chunk for table in tables for chunk in table.column(column).chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


def _spelled(rows: pa.Table, columns: tuple[str, ...]) -> pa.Array:
    return pa.concat_arrays([pa.array([], pa.string()), *spelled(rows, columns).drop_null().chunks])
