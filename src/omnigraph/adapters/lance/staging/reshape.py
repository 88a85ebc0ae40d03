"""Staging of a schema change that keeps the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import writing
from omnigraph.adapters.lance.staging.field_layout import field_numbers, reshape
from omnigraph.adapters.lance.staging.operations import OperationKind, TableOperation
from omnigraph.adapters.lance.staging.writing import fragment_bodies
from omnigraph.datatypes.arrow import PROPERTY
from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from omnigraph.ports.tables import ColumnFill

__all__ = ["stage_reshape"]

# Rows per call of a fill: enough to amortise the call, few enough for vectors to fit in memory.
_FILLED_ROWS = 16_384


def stage_reshape(
    dataset: Any, schema: pa.Schema, fill: ColumnFill | None, *, path: str, fingerprint: str
) -> TableOperation | None:
    """Stage a schema change; data files are written only for filled columns."""
    filled = fill.columns if fill is not None else ()
    kept = {
        name for name in schema.names if name not in filled and _stays(dataset.schema, schema, name)
    }
    if kept == set(schema.names) == set(dataset.schema.names):
        return None
    shape, numbers = reshape(dataset, schema, kept=kept, first=filled)
    new: list[Any] = []
    if fill is not None:
        new = [_fill(each, fill, numbers, path) for each in dataset.get_fragments()]
    written = {str(number): name for name in filled for number in numbers[name]}
    return TableOperation(
        OperationKind.RESHAPE, fingerprint, new=fragment_bodies(new), fields=written, shape=shape
    )


def _stays(before: pa.Schema, after: pa.Schema, name: str) -> bool:
    """Return whether a column keeps its values: the same name may belong to another property."""
    if name not in before.names:
        return False
    old, new = before.field(name), after.field(name)
    same_property = (old.metadata or {}).get(PROPERTY) == (new.metadata or {}).get(PROPERTY)
    return bool(old.type.equals(new.type)) and same_property


def _fill(
    fragment: Any, fill: ColumnFill, numbers: Mapping[str, tuple[int, ...]], path: str
) -> Any:
    """Add a data file to a fragment; the new schema names its columns by field id."""
    names = {column: f"__filled_{place}" for place, column in enumerate(fill.columns)}

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        return fill.compute(batch).rename_columns(list(names.values()))

    with writing(path):
        metadata, merged = fragment.merge_columns(
            compute, columns=list(fill.reads), batch_size=_FILLED_ROWS
        )
    given = field_numbers(merged)
    if any(given[name] != numbers[column] for column, name in names.items()):
        raise StorageFault("table.unwritable", f"table {path}: Lance numbers columns otherwise")
    return metadata
