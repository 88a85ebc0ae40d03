"""Commits of new versions.

A version of a table is committed detached, on top of the pin that it was staged for. Lance gives it
a random number, so commits of several branches never conflict, never list the directory, and never
see each other. Only the first version of a table and the versions of logs are ordered.

``max_retries=0`` is no compare-and-swap for ordered versions: Lance rebases most operations
silently. Their number is therefore checked after the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.commits import transactions
from omnigraph.adapters.lance.handles.failures import (
    LANCE_ERRORS,
    is_conflict,
    storage_fault,
    table_raced,
)
from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.adapters.lance.handles.cache import HandleCache
    from omnigraph.adapters.lance.handles.versions import VersionHistory
    from omnigraph.ports.tables import Pin

__all__ = ["Committed", "Committer"]

_APPEND_RETRIES = 20


@frozen
class Committed:
    """A version that this committer created."""

    dataset: Any
    fingerprint: str


class Committer:
    """Commits to the tables below one root."""

    def __init__(self, handles: HandleCache, versions: VersionHistory, *, movable: bool) -> None:
        self._handles = handles
        self._versions = versions
        # A local directory can be moved away during a commit; Lance would recreate it.
        self._movable = movable

    def create(self, path: str, operation: Any, operation_id: str) -> Committed:
        """Create version 1 of a new table, or raise ``Conflict("table.raced")``."""
        transaction = transactions.new_transaction(0, operation, operation_id)
        try:
            made = transactions.commit(
                self._handles.url(path),
                transaction,
                storage_options=self._handles.storage_options,
                stable_row_ids=True,
            )
        except LANCE_ERRORS as error:
            if not self._versions.list(path):
                raise storage_fault("table.unwritable", path, error) from error
            if not self._versions.has(path, 1):
                raise table_raced(path, 1) from error
            # The reply may be lost, not the write.
            return _require_ours(path, self._handles.at(path, 1), transaction)
        if made.version != 1:
            raise table_raced(path, 1, made.version)
        return Committed(made, transaction.uuid)

    def extend(self, pin: Pin, operation: Any, operation_id: str) -> Committed:
        """Commit on top of a pin. After an error a version may exist, which nothing refers to."""
        dataset = self._handles.pinned(pin)
        try:
            made = _commit_detached(dataset, operation, operation_id)
        except OSError:
            # A reply may be lost. Another version of the same contents does no harm.
            made = self._retry(pin, dataset, operation, operation_id)
        except LANCE_ERRORS as error:
            raise storage_fault("table.unwritable", pin.path, error) from error
        self._require_in_place(pin.path, pin.version)
        return made

    def _retry(self, pin: Pin, dataset: Any, operation: Any, operation_id: str) -> Committed:
        try:
            return _commit_detached(dataset, operation, operation_id)
        except LANCE_ERRORS as error:
            raise storage_fault("table.unwritable", pin.path, error) from error

    def append(self, path: str, base: int, operation: Any, operation_id: str) -> None:
        """Commit an append at ``base`` or later: concurrent appends are all kept."""
        transaction = transactions.new_transaction(base, operation, operation_id)
        try:
            transactions.commit(self._handles.at(path, base), transaction, retries=_APPEND_RETRIES)
        except LANCE_ERRORS as error:
            if is_conflict(error):
                raise table_raced(path, base + 1) from error
            raise storage_fault("table.unwritable", path, error) from error

    def _require_in_place(self, path: str, base: int) -> None:
        if self._movable and not self._versions.has(path, base):
            raise StorageFault(
                "storage.root_missing",
                f"table {path}: the version below the commit does not exist any more",
                details={"table": path, "version": base},
                remedy="The graph was moved or removed; open it where it is now.",
            )


def _commit_detached(dataset: Any, operation: Any, operation_id: str) -> Committed:
    transaction = transactions.new_transaction(dataset.version, operation, operation_id)
    return Committed(transactions.commit_detached(dataset, transaction), transaction.uuid)


def _require_ours(path: str, dataset: Any, transaction: Any) -> Committed:
    found = dataset.read_transaction(dataset.version)
    if (
        found.uuid != transaction.uuid
        or found.transaction_properties != transaction.transaction_properties
    ):
        raise table_raced(path, dataset.version)
    return Committed(dataset, found.uuid)
