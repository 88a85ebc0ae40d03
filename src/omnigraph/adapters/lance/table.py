"""A table at one version: reading it and staging changes of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import reading
from omnigraph.adapters.lance.handles.metadata import fragments_of, schema_of
from omnigraph.adapters.lance.reading.blobs import (
    decode_schema,
    encode_schema,
    has_blobs,
    open_blob,
)
from omnigraph.adapters.lance.reading.indexes import describe_indexes, notes_key
from omnigraph.adapters.lance.reading.membership import MEMBERSHIP
from omnigraph.adapters.lance.reading.row_sets import read_rows
from omnigraph.adapters.lance.reading.search import find, search_vector, search_words
from omnigraph.adapters.lance.staging import changes as staging
from omnigraph.adapters.lance.staging.combination import combine
from omnigraph.adapters.lance.staging.files import staged_files
from omnigraph.adapters.lance.staging.index_segments import stage_indexes
from omnigraph.adapters.lance.staging.operations import OperationKind, TableOperation
from omnigraph.adapters.lance.staging.reshape import stage_reshape
from omnigraph.errors import NotFound
from omnigraph.ports.tables import Fragment, Staged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    import pyarrow as pa

    from omnigraph.adapters.lance.handles.root import LanceRoot
    from omnigraph.adapters.lance.reading.blobs import LanceBlob
    from omnigraph.ports.indexes import IndexInfo, IndexSegment, NewSegment
    from omnigraph.ports.tables import ColumnFill, Pin, RowSet

__all__ = ["LanceTable"]


class LanceTable:
    """One version of one Lance dataset."""

    def __init__(self, pin: Pin, dataset: Any, root: LanceRoot) -> None:
        self._pin = pin
        self._dataset = dataset
        self._root = root

    @property
    def pin(self) -> Pin:
        return self._pin

    @cached_property
    def schema(self) -> pa.Schema:
        return decode_schema(schema_of(self._dataset))

    @cached_property
    def _blobs(self) -> bool:
        return has_blobs(schema_of(self._dataset))

    @property
    def dataset(self) -> Any:
        """The Lance dataset, for the other adapters of Lance only."""
        return self._dataset

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - the word that Arrow and Lance use
        limit: int | None = None,
        row_ids: bool = False,
        row_addresses: bool = False,
        fragments: Sequence[int] | None = None,
    ) -> pa.Table:
        with reading(self._pin.path):
            return self._scanner(
                columns,
                filter=filter,
                limit=limit,
                with_row_id=row_ids,
                with_row_address=row_addresses,
                fragments=self._chosen(fragments),
            ).to_table()

    def fragments(self) -> tuple[Fragment, ...]:
        with reading(self._pin.path):
            return tuple(
                Fragment(each.name, each.rows, each.physical_rows)
                for each in fragments_of(self._dataset)
            )

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - as above
        row_ids: bool = False,
        row_addresses: bool = False,
        fragments: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        with reading(self._pin.path):
            yield from self._scanner(
                columns,
                filter=filter,
                with_row_id=row_ids,
                with_row_address=row_addresses,
                fragments=self._chosen(fragments),
            ).to_batches()

    def take(self, positions: np.ndarray, columns: Sequence[str]) -> pa.Table:
        with reading(self._pin.path):
            return self._dataset.take(positions.tolist(), columns=list(columns))

    def blob(self, column: str, address: int) -> LanceBlob | None:
        with reading(self._pin.path):
            return open_blob(self._dataset, self._pin.path, column, address)

    def read(
        self, rows: RowSet, columns: Sequence[str], *, row_ids: bool = False
    ) -> Iterator[pa.RecordBatch]:
        def stream(**options: Any) -> Iterator[pa.RecordBatch]:
            marks = {"with_row_id": row_ids, "with_row_address": True}
            yield from self._scanner(columns, **marks, **options).to_batches()

        with reading(self._pin.path):
            yield from read_rows(self._dataset, rows, stream)

    def count(self, filter: Any = None) -> int:  # noqa: A002 - as above
        with reading(self._pin.path):
            return int(self._dataset.count_rows(filter=filter))

    def find(self, filter: Any) -> np.ndarray:  # noqa: A002 - as above
        with reading(self._pin.path):
            return find(self._dataset, filter)

    def might_contain(self, column: str, values: pa.Array) -> pa.Array:
        with reading(self._pin.path):
            return MEMBERSHIP.might_contain(self._dataset, column, values)

    def indexes(self) -> tuple[IndexInfo, ...]:
        fragments = self.fragments()
        with reading(self._pin.path):
            return describe_indexes(self._dataset, fragments)

    def index_notes(self, segment: IndexSegment) -> bytes | None:
        try:
            return self._root.objects.get(notes_key(self._pin.path, segment.key))
        except NotFound:
            return None

    def search_words(self, column: str, words: Sequence[str], *, every: bool = False) -> np.ndarray:
        with reading(self._pin.path):
            return search_words(self._dataset, column, words, every=every)

    def search_vector(
        self, column: str, query: np.ndarray, count: int, *, probes: int
    ) -> np.ndarray:
        with reading(self._pin.path):
            return search_vector(self._dataset, column, query, count, probes=probes)

    def stage_append(self, rows: pa.Table) -> Staged:
        self._root.require_present()
        return self._staged(
            staging.stage_append(
                self._dataset, rows, path=self._pin.path, fingerprint=self._pin.fingerprint
            )
        )

    def stage_overwrite(self, rows: pa.Table) -> Staged:
        self._root.require_present()
        schema = encode_schema(rows.schema)
        operation = staging.stage_overwrite(
            self._dataset, rows, schema, path=self._pin.path, fingerprint=self._pin.fingerprint
        )
        return self._staged(operation, blobs=has_blobs(schema))

    def stage_change(
        self,
        *,
        delete: np.ndarray | None = None,
        replace: tuple[np.ndarray, pa.Table] | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        self._root.require_present()
        operation = staging.stage_change(
            self._dataset,
            path=self._pin.path,
            fingerprint=self._pin.fingerprint,
            delete=delete,
            replace=replace,
            insert=insert,
        )
        return None if operation is None else self._staged(operation)

    def stage_partition(
        self,
        *,
        delete: np.ndarray | None = None,
        insert: pa.Table | None = None,
    ) -> Staged | None:
        self._root.require_present()
        operation = staging.stage_partition(
            self._dataset,
            path=self._pin.path,
            fingerprint=self._pin.fingerprint,
            delete=delete,
            insert=insert,
        )
        return None if operation is None else self._staged(operation)

    def combine(self, partitions: Iterable[Staged]) -> Staged | None:
        return combine(self._pin, partitions)

    def stage_reshape(self, schema: pa.Schema, fill: ColumnFill | None = None) -> Staged | None:
        self._root.require_present()
        operation = stage_reshape(
            self._dataset,
            encode_schema(schema),
            fill,
            path=self._pin.path,
            fingerprint=self._pin.fingerprint,
        )
        return None if operation is None else self._staged(operation, blobs=False)

    def stage_indexes(self, segments: Sequence[NewSegment]) -> Staged | None:
        if not segments:
            return None
        self._root.require_present()
        change = stage_indexes(self._dataset, segments, path=self._pin.path)
        for wanted, made in zip(segments, change.new, strict=True):
            if wanted.notes is not None:
                key = notes_key(self._pin.path, made["uuid"])
                self._root.objects.put_if_absent(key, wanted.notes)
        return self._staged(
            TableOperation(OperationKind.INDEX, self._pin.fingerprint, indexes=change)
        )

    def _chosen(self, positions: Sequence[int] | None) -> list[Any] | None:
        if positions is None:
            return None
        every = self._dataset.get_fragments()
        return [every[position] for position in positions]

    def _scanner(self, columns: Sequence[str] | None, **options: Any) -> Any:
        if self._blobs:
            options["blob_handling"] = "all_binary"
        return self._dataset.scanner(columns=None if columns is None else list(columns), **options)

    def _staged(self, operation: TableOperation, *, blobs: bool | None = None) -> Staged:
        with_blobs = self._blobs if blobs is None else blobs
        files = staged_files(self._root.objects, self._pin.path, operation, blobs=with_blobs)
        return Staged(self._pin.path, self._pin.version, operation.to_text(), files)
