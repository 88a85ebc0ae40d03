"""Lance transactions: made, and committed once by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import panics_as_errors
from omnigraph.adapters.lance.handles.fingerprint import OPERATION, new_fingerprint
from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["commit", "new_transaction"]


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
