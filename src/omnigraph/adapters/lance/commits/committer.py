"""Moving a table by one version, and knowing afterwards whose version it is.

``max_retries=0`` is no compare-and-swap: Lance rebases most operations silently. So every commit is
followed by the question whether it is the successor of the base. A version that a commit returned
is its own; one that is found after an error is asked for the transaction that it carries.
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
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.errors import Conflict, StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.adapters.lance.handles.cache import HandleCache
    from omnigraph.adapters.lance.handles.versions import VersionHistory
    from omnigraph.ports.tables import Pin

__all__ = ["Committed", "Committer"]

_APPEND_RETRIES = 20


@frozen
class Committed:
    """A version that is certainly ours."""

    dataset: Any
    fingerprint: str


class Committer:
    """Commits to the tables below one root."""

    def __init__(self, handles: HandleCache, versions: VersionHistory, *, movable: bool) -> None:
        self._handles = handles
        self._versions = versions
        # A local directory can be moved away under a writer; Lance would re-create it.
        self._movable = movable
        # Tables that were searched for missing versions: one listing each.
        self._checked: set[str] = set()

    def create(self, path: str, operation: Any, operation_id: str, *, stable: bool) -> Committed:
        """Version 1 of a new table, or ``Conflict("table.raced")`` when somebody made it first."""
        transaction = transactions.new_transaction(0, operation, operation_id)
        try:
            made = transactions.commit(
                self._handles.url(path),
                transaction,
                storage_options=self._handles.storage_options,
                stable_row_ids=stable,
            )
        except LANCE_ERRORS as error:
            if not self._versions.list(path):
                raise storage_fault("table.unwritable", path, error) from error
            if not self._versions.has(path, 1):
                raise table_raced(path, 1) from error
            # It may be ours all the same.
            return _require_ours(path, self._handles.at(path, 1), transaction)
        if made.version != 1:
            raise table_raced(path, 1, made.version)
        return Committed(made, transaction.uuid)

    def advance(
        self, pin: Pin, operation: Any, operation_id: str, fingerprint: str | None = None
    ) -> Committed:
        """Commit on top of a pin, which is restored first when it is not the newest version.

        The fingerprint is for the very next version: what is tried later gets one of its own.
        """
        is_first = pin.path not in self._checked
        made = self._advance(pin, operation, operation_id, fingerprint, is_first=is_first)
        self._checked.add(pin.path)
        return made

    def _advance(
        self,
        pin: Pin,
        operation: Any,
        operation_id: str,
        fingerprint: str | None,
        *,
        is_first: bool,
    ) -> Committed:
        dataset = self._handles.pinned(pin)
        # Mostly one probe tells that it is, whatever the length of the history. Where cleanup or a
        # power cut left a gap above the pin, the commit fails its checks; then we list.
        if not self._versions.has(pin.path, pin.version + 1):
            try:
                base = self._past_missing(pin, dataset, operation_id) if is_first else dataset
                own = fingerprint if base is dataset else None
                return self.on(base, pin.path, base.version, operation, operation_id, own)
            except Conflict:
                pass
        base = self._restored(pin, dataset, operation_id)
        if is_first:
            base = self._past_missing(pin, base, operation_id)
        return self.on(base, pin.path, base.version, operation, operation_id)

    def _past_missing(self, pin: Pin, newest: Any, operation_id: str) -> Any:
        """Commit versions without change under numbers that missing versions may have.

        A transaction on the newest version is a trace of one. A commit may pin it, and its file may
        come back from a copy of the graph: it must not replace the version of another commit.
        """
        while self._versions.begun(pin.path, newest.version):
            restore = load_lance().LanceOperation.Restore(pin.version)
            newest = self.on(newest, pin.path, newest.version, restore, operation_id).dataset
        return newest

    def _restored(self, pin: Pin, dataset: Any, operation_id: str) -> Any:
        newest = self._versions.list(pin.path)[-1]
        if newest == pin.version:
            return dataset
        self._handles.at(pin.path, newest)  # Lance cannot commit above a torn manifest: say so
        restore = load_lance().LanceOperation.Restore(pin.version)
        return self.on(dataset, pin.path, newest, restore, operation_id).dataset

    def on(
        self,
        dataset: Any,
        path: str,
        base: int,
        operation: Any,
        operation_id: str,
        fingerprint: str | None = None,
    ) -> Committed:
        """Commit ``operation`` as version ``base + 1``, or raise ``Conflict("table.raced")``."""
        transaction = transactions.new_transaction(base, operation, operation_id, fingerprint)
        try:
            result = transactions.commit(dataset, transaction)
        except LANCE_ERRORS as error:
            found = self._look_again(path, base + 1, error)
            made = _require_ours(path, found, transaction)
        else:
            made = Committed(result, transaction.uuid)
        if made.dataset.version != base + 1:
            raise table_raced(path, base + 1, made.dataset.version)
        self._require_in_place(path, base)
        return made

    def append(self, path: str, base: int, operation: Any, operation_id: str) -> None:
        """Commit an append at ``base`` or later: rows of all who append at once are kept."""
        transaction = transactions.new_transaction(base, operation, operation_id)
        try:
            transactions.commit(self._handles.at(path, base), transaction, retries=_APPEND_RETRIES)
        except LANCE_ERRORS as error:
            if is_conflict(error):
                raise table_raced(path, base + 1) from error
            raise storage_fault("table.unwritable", path, error) from error

    def _look_again(self, path: str, version: int, error: Exception) -> Any:
        """After an error: the version, when it is there after all. Its owner is asked next."""
        if self._versions.has(path, version):
            return self._handles.at(path, version)
        if is_conflict(error):
            raise table_raced(path, version) from error
        newest = max(self._versions.list(path), default=0)
        if newest > version:
            # Lance stumbled over what lies between; whoever lists goes around it, unless the newest
            # is torn itself.
            self._handles.at(path, newest)
            raise table_raced(path, version, newest) from error
        raise storage_fault("table.unwritable", path, error) from error

    def _require_in_place(self, path: str, base: int) -> None:
        if self._movable and not self._versions.has(path, base):
            raise StorageFault(
                "storage.root_missing",
                f"table {path}: the version that was built on is not there any more",
                details={"table": path, "version": base},
                remedy="The graph was moved or removed; open it where it is now.",
            )


def _require_ours(path: str, dataset: Any, transaction: Any) -> Committed:
    found = dataset.read_transaction(dataset.version)
    if (
        found.uuid != transaction.uuid
        or found.transaction_properties != transaction.transaction_properties
    ):
        raise table_raced(path, dataset.version)
    return Committed(dataset, found.uuid)
