"""Many staged parts of one change, put together.

Spark executors each stage what they have; the driver commits once. Parts that only bring rows fit
every later version of the table. Parts that hide rows were made for one version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.adapters.lance.operations import OperationKind, TableOperation
from omnigraph.errors import InvalidInput
from omnigraph.ports.tables import Staged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.ports.tables import Pin

__all__ = ["combine"]


def combine(pin: Pin, parts: Iterable[Staged]) -> Staged | None:
    """One change out of many parts, on top of ``pin``; None when there are none."""
    given = list(parts)
    if not given:
        return None
    operations = [TableOperation.from_text(part.operation) for part in given]
    _require_compatible(pin, given, operations)
    combined = TableOperation(
        _kind(operations),
        pin.fingerprint,
        new=tuple(fragment for part in operations for fragment in part.new),
        updated=tuple(fragment for part in operations for fragment in part.updated),
        removed=tuple(number for part in operations for number in part.removed),
        fields=next((part.fields for part in operations if part.fields is not None), None),
        schema=operations[0].schema,
    )
    files = tuple(file for part in given for file in part.files)
    return Staged(pin.path, pin.version, combined.to_text(), files)


def _kind(operations: Sequence[TableOperation]) -> OperationKind:
    kinds = {part.kind for part in operations}
    if kinds == {OperationKind.OVERWRITE}:
        return OperationKind.OVERWRITE
    if OperationKind.OVERWRITE in kinds or OperationKind.RESHAPE in kinds:
        raise InvalidInput("table.parts", "an overwrite or a reshape is no part of another change")
    if not any(part.updated or part.removed for part in operations):
        return OperationKind.APPEND
    return OperationKind.UPDATE if any(part.new for part in operations) else OperationKind.DELETE


def _require_compatible(pin: Pin, parts: list[Staged], operations: list[TableOperation]) -> None:
    touched: set[int] = set()
    fields = schema = None
    for part, operation in zip(parts, operations, strict=True):
        hidden = {*(fragment["id"] for fragment in operation.updated), *operation.removed}
        if part.path != pin.path or (hidden and operation.base_fingerprint != pin.fingerprint):
            raise InvalidInput(
                "table.parts", f"table {pin.path}: a part was staged at another version"
            )
        if touched & hidden:
            # Each deletion vector is whole: the second one would bring the rows of the first back.
            raise InvalidInput(
                "table.parts", f"table {pin.path}: two parts hide rows that were written together"
            )
        touched |= hidden
        fields, schema = fields or operation.fields, schema or operation.schema
        if (operation.fields or fields) != fields or (operation.schema or schema) != schema:
            raise InvalidInput(
                "table.parts", f"table {pin.path}: parts were staged for different columns"
            )
