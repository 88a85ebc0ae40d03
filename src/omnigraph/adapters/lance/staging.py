"""The only module that writes to Lance, but for small files (``small``): data files that nothing
refers to, and commits.

Everything goes through a handle opened at the pin. A bare address would mean the newest version,
whose columns may be another branch's: that silently wrote NULLs and swapped columns when it was
tried. Lance's in-place methods (delete, update, merge_insert, ...) are used nowhere: tests/tidy
looks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.adapters.lance.blobs import decode_schema, encode_rows
from omnigraph.adapters.lance.failures import panics_as_errors, writing
from omnigraph.adapters.lance.field_layout import field_numbers, reshape
from omnigraph.adapters.lance.fingerprint import OPERATION, new_fingerprint
from omnigraph.adapters.lance.handle_metadata import field_names, schema_of
from omnigraph.adapters.lance.imports import load_lance
from omnigraph.adapters.lance.indexes import IndexChange, index_type, segment_records, to_record
from omnigraph.adapters.lance.membership import PRESENCE
from omnigraph.adapters.lance.operations import (
    OperationKind,
    TableOperation,
    encode_schema_text,
    fragment_body,
)
from omnigraph.adapters.lance.small_files import is_small, write_small
from omnigraph.adapters.lance.small_fragments import find_small_fragments
from omnigraph.datatypes.arrow import PROPERTY
from omnigraph.errors import InvalidInput, StorageFault
from omnigraph.ports.indexes import IndexKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ports.indexes import NewSegment
    from omnigraph.ports.tables import Filling

__all__ = [
    "commit",
    "new_transaction",
    "stage_append",
    "stage_change",
    "stage_indexes",
    "stage_overwrite",
    "stage_part",
    "stage_reshape",
    "write_first_rows",
    "write_rows",
]

# Rows that are filled at once: enough to be worth a call, few enough for vectors to fit.
_FILLED_ROWS = 16_384
_FRAGMENT_SHIFT = np.uint64(32)
_OFFSET_MASK = np.uint64(0xFFFFFFFF)


def stage_append(dataset: Any, rows: pa.Table, *, path: str, fingerprint: str) -> TableOperation:
    """New rows."""
    new = write_rows(dataset, _require_columns(rows, schema_of(dataset), path), path=path)
    return TableOperation(
        OperationKind.APPEND, fingerprint, new=_bodies(new), fields=field_names(dataset)
    )


def stage_overwrite(
    dataset: Any, rows: pa.Table, schema: pa.Schema, *, path: str, fingerprint: str
) -> TableOperation:
    """Rows, with a schema of their own, instead of all others."""
    new: list[Any] = []
    if rows.num_rows:
        with writing(path):
            new = load_lance().fragment.write_fragments(
                encode_rows(rows, schema), dataset, schema=schema, mode="overwrite"
            )
    return TableOperation(
        OperationKind.OVERWRITE, fingerprint, new=_bodies(new), schema=encode_schema_text(schema)
    )


def stage_change(
    dataset: Any,
    *,
    path: str,
    fingerprint: str,
    delete: np.ndarray | None,
    replace: tuple[np.ndarray, np.ndarray | None, pa.Table] | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """Deletes, replacements and inserts as one operation; replacements keep given row ids."""
    deleted = _addresses(delete)
    replaced = _addresses(replace[0] if replace is not None else None)
    gone = np.union1d(deleted, replaced)
    if replaced.size != np.unique(replaced).size or np.isin(replaced, deleted).any():
        raise InvalidInput("table.replace", f"table {path}: a row is replaced and gone, or twice")
    plain, identified = _by_identity(replace, insert, path)
    written = sum(rows.num_rows for rows in plain)
    tail = find_small_fragments(
        dataset, written_rows=written + (len(identified[0]) if identified else 0)
    )
    if not gone.size and tail is None:
        return (
            stage_append(dataset, plain[0], path=path, fingerprint=fingerprint) if written else None
        )
    hidden = gone
    if tail is not None:
        plain = [*plain, tail.without(gone)]
        # Its fragments go whole.
        in_tail = np.isin(gone >> _FRAGMENT_SHIFT, np.array(tail.fragment_ids, np.uint64))
        hidden = gone[~in_tail]
    new = _write_replacements(dataset, *identified, path) if identified else []
    fitting = [_require_columns(rows, schema_of(dataset), path) for rows in plain if rows.num_rows]
    if fitting:
        new += write_rows(dataset, pa.concat_tables(fitting), path=path)
    updated, removed = _hide(dataset, hidden, path)
    if tail is not None:
        removed = (*removed, *tail.fragment_ids)
    return TableOperation(
        OperationKind.UPDATE if new else OperationKind.DELETE,
        fingerprint,
        new=_bodies(new),
        updated=_bodies(updated),
        removed=removed,
        fields=field_names(dataset) if new else None,
    )


def _by_identity(
    replace: tuple[np.ndarray, np.ndarray | None, pa.Table] | None,
    insert: pa.Table | None,
    path: str,
) -> tuple[list[pa.Table], tuple[np.ndarray, pa.Table] | None]:
    """The rows that are written as new ones, and those that keep the row ids of others."""
    plain = [insert] if insert is not None and insert.num_rows else []
    if replace is None or not len(replace[0]):
        return plain, None
    addresses, row_ids, rows = replace
    if len(addresses) != rows.num_rows or (row_ids is not None and len(row_ids) != rows.num_rows):
        raise _uneven(path)
    return ([rows, *plain], None) if row_ids is None else (plain, (row_ids, rows))


def stage_reshape(
    dataset: Any, schema: pa.Schema, filling: Filling | None, *, path: str, fingerprint: str
) -> TableOperation | None:
    """Another schema for the same rows; data files only for the columns that are filled."""
    filled = filling.columns if filling is not None else ()
    kept = {
        name for name in schema.names if name not in filled and _stays(dataset.schema, schema, name)
    }
    if kept == set(schema.names) == set(dataset.schema.names):
        return None
    shape, numbers = reshape(dataset, schema, kept=kept, first=filled)
    new: list[Any] = []
    if filling is not None:
        new = [_fill(each, filling, numbers, path) for each in dataset.get_fragments()]
    written = {str(number): name for name in filled for number in numbers[name]}
    return TableOperation(
        OperationKind.RESHAPE, fingerprint, new=_bodies(new), fields=written, shape=shape
    )


def _stays(before: pa.Schema, after: pa.Schema, name: str) -> bool:
    """A column of the same name may be another property's: then its values mean nothing here."""
    if name not in before.names:
        return False
    old, new = before.field(name), after.field(name)
    same_property = (old.metadata or {}).get(PROPERTY) == (new.metadata or {}).get(PROPERTY)
    return bool(old.type.equals(new.type)) and same_property


def _fill(
    fragment: Any, filling: Filling, numbers: Mapping[str, tuple[int, ...]], path: str
) -> Any:
    """A fragment with one more file. Its columns get their names from the new schema, by number."""
    names = {column: f"__filled_{place}" for place, column in enumerate(filling.columns)}

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        return filling.compute(batch).rename_columns(list(names.values()))

    with writing(path):
        metadata, merged = fragment.merge_columns(
            compute, columns=list(filling.reads), batch_size=_FILLED_ROWS
        )
    given = field_numbers(merged)
    if any(given[name] != numbers[column] for column, name in names.items()):
        raise StorageFault("table.unwritable", f"table {path}: Lance numbers columns otherwise")
    return metadata


def stage_part(
    dataset: Any,
    *,
    path: str,
    fingerprint: str,
    hide: np.ndarray | None,
    replace: tuple[np.ndarray, pa.Table] | None,
    insert: pa.Table | None,
) -> TableOperation | None:
    """What one of many processes adds to a change; ``combine`` puts the parts together.

    Small fragments are left alone here: who sees only a part cannot know whether it is small.
    """
    new: list[Any] = []
    if replace is not None and replace[1].num_rows:
        new += _write_replacements(dataset, *replace, path)
    if insert is not None and insert.num_rows:
        new += write_rows(dataset, _require_columns(insert, schema_of(dataset), path), path=path)
    updated, removed = _hide(dataset, np.unique(_addresses(hide)), path)
    if not (new or updated or removed):
        return None
    return TableOperation(
        OperationKind.UPDATE if new else OperationKind.DELETE,
        fingerprint,
        new=_bodies(new),
        updated=_bodies(updated),
        removed=removed,
        fields=field_names(dataset) if new else None,
    )


def stage_indexes(dataset: Any, segments: Sequence[NewSegment], *, path: str) -> IndexChange:
    """Segments of indexes, built aside."""
    new, removed = [], []
    with writing(path):
        # Lance borrows a handle for as long as it builds, and refuses whoever reads through it.
        own = dataset.checkout_version(dataset.version)
        for segment in segments:
            new.append(to_record(_build_segment(own, segment)))
            if segment.replaces:
                removed += segment_records(dataset, segment.spec.name)
    return IndexChange(tuple(new), tuple(removed))


def _build_segment(dataset: Any, segment: NewSegment) -> Any:
    fragments = dataset.get_fragments()
    covered = [fragments[place] for place in segment.parts]
    rows = sum(fragment.metadata.num_rows for fragment in covered)
    name, options = index_type(segment.spec.kind, segment.values or rows)
    built = dataset.create_index_uncommitted(
        segment.spec.column,
        name,
        name=segment.spec.name,
        # An index of that name is not touched: segments are added to it by the commit.
        replace=True,
        fragment_ids=[fragment.fragment_id for fragment in covered],
        **options,
    )
    # The files of an index of words are provisional until segments of it are merged, be it one.
    return (
        dataset.merge_existing_index_segments([built])
        if segment.spec.kind is IndexKind.WORDS
        else built
    )


def write_rows(dataset: Any, rows: pa.Table, *, path: str, mode: str = "append") -> list[Any]:
    """Data files for rows, written with the schema of the handle. None for no rows."""
    if not rows.num_rows:
        return []
    with writing(path):
        if is_small(dataset, rows):
            written = [write_small(dataset, rows, overwrite=mode == "overwrite")]
        else:
            written = list(load_lance().fragment.write_fragments(rows, dataset, mode=mode))
    PRESENCE.learn(written, rows)
    return written


def write_first_rows(
    url: str, rows: pa.Table, *, path: str, storage_options: Mapping[str, str] | None
) -> list[Any]:
    """Data files for a table that does not exist yet: the one case without a handle."""
    with writing(path):
        return list(
            load_lance().fragment.write_fragments(
                rows, url, mode="create", storage_options=storage_options
            )
        )


def new_transaction(
    read_version: int, operation: Any, operation_id: str, fingerprint: str | None = None
) -> Any:
    """A transaction that carries the operation id; its uuid becomes the version's fingerprint."""
    return load_lance().Transaction(
        read_version,
        operation,
        uuid=fingerprint or new_fingerprint(),
        transaction_properties={OPERATION: operation_id},
    )


def commit(
    target: Any,
    transaction: Any,
    *,
    storage_options: Mapping[str, str] | None = None,
    stable_row_ids: bool | None = None,
    retries: int = 0,
) -> Any:
    """Commit, by default once. Lance may still rebase: the caller checks the version."""
    with panics_as_errors():
        return load_lance().LanceDataset.commit(
            target,
            transaction,
            max_retries=retries,
            storage_options=storage_options,
            enable_stable_row_ids=stable_row_ids,
        )


def _hide(dataset: Any, addresses: np.ndarray, path: str) -> tuple[list[Any], tuple[int, ...]]:
    """Deletion vectors for rows by address; fragments without a row left are removed whole."""
    updated, removed = [], []
    fragments = addresses >> _FRAGMENT_SHIFT
    for fragment_id in np.unique(fragments):
        offsets = addresses[fragments == fragment_id] & _OFFSET_MASK
        fragment = dataset.get_fragment(int(fragment_id))
        if fragment is None:
            raise InvalidInput(
                "table.address", f"table {path} has no fragment {fragment_id}: not an address of it"
            )
        with writing(path):
            metadata = fragment.delete_rows(offsets.tolist())
        if metadata is None:
            removed.append(int(fragment_id))
        else:
            updated.append(metadata)
    return updated, tuple(removed)


def _write_replacements(dataset: Any, row_ids: np.ndarray, rows: pa.Table, path: str) -> list[Any]:
    if len(row_ids) != rows.num_rows:
        raise _uneven(path)
    fragments = write_rows(dataset, _require_columns(rows, schema_of(dataset), path), path=path)
    start = 0
    sequence = load_lance().fragment.RowIdSequence
    for fragment in fragments:
        ids = pa.array(row_ids[start : start + fragment.physical_rows], pa.uint64())
        fragment.row_id_meta = sequence(ids).to_inline_metadata()
        start += fragment.physical_rows
    return fragments


def _uneven(path: str) -> InvalidInput:
    return InvalidInput("table.replace", f"table {path}: addresses, row ids and rows differ")


def _require_columns(rows: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    if sorted(rows.column_names) != sorted(schema.names):
        raise InvalidInput(
            "table.columns",
            f"table {path}: rows have the columns {rows.column_names}, the table {schema.names}",
            details={"table": path},
        )
    try:
        return encode_rows(rows, schema)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            "table.columns",
            f"table {path}: rows do not fit {decode_schema(schema).names}: {error}",
            details={"table": path},
        ) from error


def _addresses(addresses: np.ndarray | None) -> np.ndarray:
    return np.empty(0, np.uint64) if addresses is None else np.asarray(addresses, np.uint64)


def _bodies(fragments: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    return tuple(fragment_body(fragment) for fragment in fragments)
