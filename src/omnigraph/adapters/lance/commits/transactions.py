"""Lance transactions: creation and commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import panics_as_errors
from omnigraph.adapters.lance.handles.fingerprint import OPERATION, new_fingerprint
from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["commit", "commit_detached", "new_transaction"]

# A detached commit fails without retries: the first attempt needs one, whatever its number is.
_DETACHED_RETRIES = 5


def new_transaction(read_version: int, operation: Any, operation_id: str) -> Any:
    """Create a transaction with an operation id; its uuid becomes the version's fingerprint."""
    return load_lance().Transaction(
        read_version,
        operation,
        uuid=new_fingerprint(),
        transaction_properties={OPERATION: operation_id},
    )


def commit_detached(dataset: Any, transaction: Any) -> Any:
    """Commit on top of an opened version, outside of the order of the dataset: never conflicts."""
    with panics_as_errors():
        return load_lance().LanceDataset.commit(
            dataset, transaction, detached=True, max_retries=_DETACHED_RETRIES
        )


def commit(
    target: Any,
    transaction: Any,
    *,
    storage_options: Mapping[str, str] | None = None,
    stable_row_ids: bool | None = None,
    retries: int = 0,
) -> Any:
    """Commit the next ordered version. Lance may rebase even without retries: check the version."""
    with panics_as_errors():
        return load_lance().LanceDataset.commit(
            target,
            transaction,
            max_retries=retries,
            storage_options=storage_options,
            enable_stable_row_ids=stable_row_ids,
        )
