"""Indexes of a table on Lance: what is there, and staged segments of them.

A segment is built aside under ``_indices/<uuid>/`` and described by Lance's own record; a change is
new records and the records of those that go. Lance extends an index by further segments of the same
name.
"""

from __future__ import annotations

import base64
import datetime as dt
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.imports import load_dataset_module, load_lance
from omnigraph.frozen import frozen
from omnigraph.ports.indexes import IndexInfo, IndexKind, IndexSegment, IndexSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ports.tables import Fragment

__all__ = [
    "IndexChange",
    "describe_indexes",
    "index_type",
    "notes_key",
    "segment_directory",
    "segment_records",
    "to_record",
]

# Texts are told apart as the language does: see semantics.text.
_WORDS_OPTIONS = {
    "base_tokenizer": "simple",
    "lower_case": True,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
    "max_token_length": None,
    "with_position": False,
}
_TYPES = {
    IndexKind.ORDER: "BTREE",
    IndexKind.MEMBERS: "BITMAP",
    IndexKind.WORDS: "INVERTED",
    IndexKind.VECTOR: "IVF_FLAT",
}
_KINDS = frozenset(kind.value for kind in IndexKind)
_CELLS_MAX = 4_096
_NOTES = "omnigraph.notes"

_Record = dict[str, Any]


@frozen
class IndexChange:
    """Records of segments that come, and of those that go."""

    new: tuple[Mapping[str, Any], ...]
    removed: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"new": list(self.new), "removed": list(self.removed)}

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> IndexChange:
        return IndexChange(tuple(body["new"]), tuple(body["removed"]))

    def to_lance(self) -> Any:
        return load_lance().LanceOperation.CreateIndex(
            [_from_record(record) for record in self.new],
            [_from_record(record) for record in self.removed],
        )


def index_type(kind: IndexKind, values: int) -> tuple[str, dict[str, Any]]:
    """Lance's name for a kind of index, and the options for so many values.

    Vectors are not compressed: cells of whole vectors take seconds to build where quantised ones
    take minutes, and lose no neighbour that they hold.
    """
    options: dict[str, Any] = {}
    if kind is IndexKind.WORDS:
        options = _WORDS_OPTIONS
    elif kind is IndexKind.VECTOR:
        cells = min(_CELLS_MAX, max(1, int(values**0.5)))
        options = {"metric": "cosine", "num_partitions": cells}
    return _TYPES[kind], options


def describe_indexes(dataset: Any, parts: Sequence[Fragment]) -> tuple[IndexInfo, ...]:
    """All indexes of a version, with what they cover."""
    places = {each.fragment_id: place for place, each in enumerate(dataset.get_fragments())}
    found = [_describe(index, places, parts) for index in dataset.describe_indices()]
    return tuple(sorted(found, key=lambda index: index.name))


def _describe(index: Any, places: Mapping[int, int], parts: Sequence[Fragment]) -> IndexInfo:
    segments = tuple(
        IndexSegment(
            each.uuid, tuple(sorted(places[part] for part in each.fragment_ids if part in places))
        )
        for each in index.segments
    )
    covered = {place for segment in segments for place in segment.parts}
    uncovered = tuple(place for place in range(len(parts)) if place not in covered)
    return IndexInfo(
        name=index.name,
        type=index.index_type,
        spec=_spec_of(index),
        segments=segments,
        uncovered=uncovered,
        covered_rows=sum(parts[place].rows for place in covered),
        uncovered_rows=sum(parts[place].rows for place in uncovered),
    )


def _spec_of(index: Any) -> IndexSpec | None:
    column, _, kind = index.name.rpartition(".")
    known = kind in _KINDS and index.field_names == [column]
    return IndexSpec(column, IndexKind(kind)) if known else None


def segment_records(dataset: Any, name: str) -> list[_Record]:
    """The records of the segments that an index has, as far as removing them needs."""
    records: list[_Record] = []
    for index in dataset.describe_indices():
        if index.name == name:
            records += [
                {
                    "uuid": each.uuid,
                    "name": name,
                    "fields": list(index.fields),
                    "dataset_version": each.dataset_version_at_last_update,
                    "fragment_ids": sorted(each.fragment_ids),
                    "index_version": each.index_version,
                }
                for each in index.segments
            ]
    return records


def to_record(segment: Any) -> _Record:
    """Lance's record of a staged segment as JSON."""
    details = segment.index_details
    return {
        "uuid": segment.uuid,
        "name": segment.name,
        "fields": list(segment.fields),
        "dataset_version": segment.dataset_version,
        "fragment_ids": sorted(segment.fragment_ids),
        "index_version": segment.index_version,
        "created_at": segment.created_at.isoformat() if segment.created_at else None,
        "files": [[file.path, file.size_bytes] for file in segment.files or ()],
        "details": details and [details[0], base64.b64encode(details[1]).decode()],
    }


def _from_record(record: Mapping[str, Any]) -> Any:
    module = load_dataset_module()
    created, details = record.get("created_at"), record.get("details")
    return module.Index(
        uuid=record["uuid"],
        name=record["name"],
        fields=record["fields"],
        dataset_version=record["dataset_version"],
        fragment_ids=set(record["fragment_ids"]),
        index_version=record["index_version"],
        created_at=created and dt.datetime.fromisoformat(created),
        files=[module.IndexFile(path, size) for path, size in record.get("files", ())],
        index_details=details and (details[0], base64.b64decode(details[1])),
    )


def segment_directory(path: str, segment: str) -> str:
    """Where the files of a segment lie."""
    return f"{path}/_indices/{segment}"


def notes_key(path: str, segment: str) -> str:
    """Where the notes of a segment lie: beside its files, so that Lance removes them with it."""
    return f"{segment_directory(path, segment)}/{_NOTES}"
