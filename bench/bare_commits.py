"""The bare protocol of a commit: stage, one detached table commit, one numbered object.

A floor for the product: no language, no checks, no intent, no locks, and one table. Both levels of
durability sync the same files as the product.
"""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance.file import LanceFileSession
from lance.fragment import DataFile, FragmentMetadata

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["BareGraph"]

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("name", pa.string()),
        ("age", pa.int32()),
        ("city", pa.string()),
    ]
)
_COMPACT_FROM = 16


class BareGraph:
    """One table and one branch, with its head in memory."""

    def __init__(self, root: Path, *, power: bool) -> None:
        self._power = power
        self._table = root / "table"
        self._manifests = root / "manifests"
        self._manifests.mkdir(parents=True)
        first = lance.LanceDataset.commit(
            str(self._table), lance.LanceOperation.Overwrite(SCHEMA, []), enable_stable_row_ids=True
        )
        self._dataset = lance.dataset(
            str(self._table), version=first.version, session=lance.Session()
        )
        (self._table / "data").mkdir(exist_ok=True)
        self._files = LanceFileSession(str(self._table / "data"))
        self._number = 0
        self._publish()

    def insert(self, keys: Iterable[str]) -> None:
        listed = list(keys)
        rows = pa.table(
            {"id": listed, "name": listed, "age": [1] * len(listed), "city": ["x"] * len(listed)},
            schema=SCHEMA,
        )
        self._commit(rows, gone=None)

    def update(self, key: str) -> None:
        rows = self._dataset.to_table(filter=f"id = '{key}'", with_row_address=True)
        changed = rows.select(SCHEMA.names).set_column(
            2, SCHEMA.field(2), pa.array([99], pa.int32())
        )
        self._commit(changed, gone=rows["_rowaddr"][0].as_py())

    def delete(self, key: str) -> None:
        found = self._dataset.to_table(columns=[], filter=f"id = '{key}'", with_row_address=True)
        self._commit(None, gone=found["_rowaddr"][0].as_py())

    def _commit(self, rows: pa.Table | None, *, gone: int | None) -> None:
        operation = lance.LanceOperation
        new, updated, removed = [], [], []
        small = self._small_fragments() if rows is not None and gone is None else []
        if rows is not None:
            if small:
                old = self._dataset.scanner(fragments=small, scan_in_order=True).to_table()
                rows = pa.concat_tables([old, rows])
                removed = [fragment.fragment_id for fragment in small]
            new = [self._write(rows)]
        if gone is not None:
            fragment = self._dataset.get_fragment(gone >> 32)
            kept = fragment.delete_rows([gone & 0xFFFFFFFF])
            updated = [kept] if kept is not None else []
            removed += [] if kept is not None else [fragment.fragment_id]
        if new and (updated or removed):
            fields = [field.id() for field in self._dataset.lance_schema.fields()]
            change = operation.Update(
                removed_fragment_ids=removed,
                updated_fragments=updated,
                new_fragments=new,
                fields_for_preserving_frag_bitmap=fields,
                update_mode="rewrite_rows",
            )
        else:
            change = operation.Append(new) if new else operation.Delete(updated, removed, "")
        transaction = lance.Transaction(self._dataset.version, change)
        self._dataset = lance.LanceDataset.commit(
            self._dataset, transaction, detached=True, max_retries=5
        )
        if self._power:
            self._sync(new, updated)
        self._publish()

    def _small_fragments(self) -> list[Any]:
        fragments = self._dataset.get_fragments()
        small = [each for each in fragments[-64:] if each.metadata.num_rows < 1_024]
        return small if len(small) >= _COMPACT_FROM else []

    def _write(self, rows: pa.Table) -> Any:
        name, version = f"{secrets.token_hex(16)}.lance", self._dataset.data_storage_version
        writer = self._files.open_writer(name, schema=rows.schema, version=version)
        for batch in rows.to_batches():
            writer.write_batch(batch)
        writer.close()
        fields = [field.id() for field in self._dataset.lance_schema.fields()]
        major, minor = (int(number) for number in version.split("."))
        columns = list(range(len(fields)))
        file = DataFile(name, fields, columns, major, minor, writer.size_bytes)
        return FragmentMetadata(0, [file], rows.num_rows)

    def _sync(self, new: list[Any], updated: list[Any]) -> None:
        files = [self._table / "data" / file.path for each in new for file in each.files]
        files += [self._table / each.deletion_file.path(each.id) for each in updated]
        files.append(self._table / "_versions" / f"d{self._dataset.version}.manifest")
        for path in [*files, *dict.fromkeys(file.parent for file in files)]:
            _sync(path)

    def _publish(self) -> None:
        self._number += 1
        body = json.dumps({"table": str(self._dataset.version), "number": self._number}).encode()
        aside = self._manifests / f".{secrets.token_hex(6)}"
        with aside.open("xb") as file:
            file.write(body)
            if self._power:
                file.flush()
                os.fsync(file.fileno())
        os.link(aside, self._manifests / f"{self._number:010}.json")
        aside.unlink()
        if self._power:
            _sync(self._manifests)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
