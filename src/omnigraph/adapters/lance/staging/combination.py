"""Combination of the staged partitions of one change.

Spark executors stage partitions; the driver commits once. Partitions that only add rows fit every
later version of the table. Partitions that delete rows fit the version that they were staged on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.adapters.lance.staging.operations import OperationKind, TableOperation
from omnigraph.errors import InvalidInput
from omnigraph.ports.tables import Staged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.ports.tables import Pin

__all__ = ["combine"]


def combine(pin: Pin, partitions: Iterable[Staged]) -> Staged | None:
    """Combine partitions into one change on top of ``pin``; None for an empty sequence."""
    given = list(partitions)
    if not given:
        return None
    operations = [TableOperation.from_text(each.operation) for each in given]
    _require_compatible(pin, given, operations)
    combined = TableOperation(
        _kind(operations),
        pin.fingerprint,
        new=tuple(fragment for each in operations for fragment in each.new),
        updated=tuple(fragment for each in operations for fragment in each.updated),
        removed=tuple(number for each in operations for number in each.removed),
        fields=next((each.fields for each in operations if each.fields is not None), None),
        schema=operations[0].schema,
    )
    files = tuple(file for each in given for file in each.files)
    return Staged(pin.path, pin.version, combined.to_text(), files)


def _kind(operations: Sequence[TableOperation]) -> OperationKind:
    kinds = {each.kind for each in operations}
    if kinds == {OperationKind.OVERWRITE}:
        return OperationKind.OVERWRITE
    if OperationKind.OVERWRITE in kinds or OperationKind.RESHAPE in kinds:
        raise InvalidInput(
            "table.parts", "an overwrite or a reshape cannot be combined with another change"
        )
    if not any(each.updated or each.removed for each in operations):
        return OperationKind.APPEND
    return OperationKind.UPDATE if any(each.new for each in operations) else OperationKind.DELETE


def _require_compatible(
    pin: Pin, partitions: list[Staged], operations: list[TableOperation]
) -> None:
    touched: set[int] = set()
    fields = schema = None
    for staged, operation in zip(partitions, operations, strict=True):
        deleted = {*(fragment["id"] for fragment in operation.updated), *operation.removed}
        if staged.path != pin.path or (deleted and operation.base_fingerprint != pin.fingerprint):
            raise InvalidInput(
                "table.parts", f"table {pin.path}: a partition was staged at another version"
            )
        if touched & deleted:
            # A deletion vector is complete: the second one would restore rows deleted by the first.
            raise InvalidInput(
                "table.parts", f"table {pin.path}: two partitions delete rows of one fragment"
            )
        touched |= deleted
        fields, schema = fields or operation.fields, schema or operation.schema
        if (operation.fields or fields) != fields or (operation.schema or schema) != schema:
            raise InvalidInput(
                "table.parts", f"table {pin.path}: partitions were staged for different columns"
            )
