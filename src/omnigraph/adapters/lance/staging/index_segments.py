"""Segments of indexes, built aside under ``_indices/<uuid>/``, and changes of indexes.

A change consists of Lance's own records of new and of removed segments. Lance extends an index by
further segments of the same name.
"""

from __future__ import annotations

import base64
import datetime as dt
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import writing
from omnigraph.adapters.lance.handles.imports import load_dataset_module, load_lance
from omnigraph.frozen import frozen
from omnigraph.ports.indexes import IndexKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ports.indexes import NewSegment

__all__ = ["IndexChange", "index_type", "segment_records", "stage_indexes", "to_record"]

# Texts are split into words as the query language does it: see semantics.text.
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
    IndexKind.BTREE: "BTREE",
    IndexKind.BITMAP: "BITMAP",
    IndexKind.INVERTED: "INVERTED",
    IndexKind.IVF: "IVF_FLAT",
}
_CELLS_MAX = 4_096

_Record = dict[str, Any]


@frozen
class IndexChange:
    """Records of new segments, and of removed ones."""

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


def stage_indexes(dataset: Any, segments: Sequence[NewSegment], *, path: str) -> IndexChange:
    """Build segments of indexes."""
    new, removed = [], []
    with writing(path):
        # Lance borrows a handle during a build and refuses concurrent reads through it.
        own = dataset.checkout_version(dataset.version)
        for segment in segments:
            new.append(to_record(_build_segment(own, segment)))
            if segment.replaces:
                removed += segment_records(dataset, segment.spec.name)
    return IndexChange(tuple(new), tuple(removed))


def _build_segment(dataset: Any, segment: NewSegment) -> Any:
    fragments = dataset.get_fragments()
    covered = [fragments[place] for place in segment.fragments]
    rows = sum(fragment.metadata.num_rows for fragment in covered)
    name, options = index_type(segment.spec.kind, segment.values or rows)
    built = dataset.create_index_uncommitted(
        segment.spec.column,
        name,
        name=segment.spec.name,
        # An existing index of that name stays: the commit adds segments to it.
        replace=True,
        fragment_ids=[fragment.fragment_id for fragment in covered],
        **options,
    )
    # The files of an inverted index are provisional until its segments, even one, are merged.
    return (
        dataset.merge_existing_index_segments([built])
        if segment.spec.kind is IndexKind.INVERTED
        else built
    )


def index_type(kind: IndexKind, values: int) -> tuple[str, dict[str, Any]]:
    """Return Lance's name for an index kind, and the options for a number of values.

    Vectors are not quantised: cells of whole vectors are built in seconds instead of minutes, and
    lose no neighbour within a cell.
    """
    options: dict[str, Any] = {}
    if kind is IndexKind.INVERTED:
        options = _WORDS_OPTIONS
    elif kind is IndexKind.IVF:
        cells = min(_CELLS_MAX, max(1, int(values**0.5)))
        options = {"metric": "cosine", "num_partitions": cells}
    return _TYPES[kind], options


def segment_records(dataset: Any, name: str) -> list[_Record]:
    """Return the records of the segments of an index, as needed to remove them."""
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
    """Return Lance's record of a staged segment as JSON."""
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
