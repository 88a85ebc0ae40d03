"""The identity of one version, because its number alone can be reused."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from omnigraph.adapters.lance.handles.failures import LANCE_ERRORS

__all__ = ["OPERATION", "fingerprint_of", "is_commit_of", "new_fingerprint", "operation_of"]

# The transaction property with the operation id.
OPERATION = "omnigraph.operation"


def fingerprint_of(dataset: Any) -> str:
    """Return the uuid of the transaction that created the version.

    The binding cannot read every transaction (a compaction that rewrote indices); those versions
    are identified by a hash of their file names.
    """
    transaction = _transaction(dataset, dataset.version)
    return transaction.uuid if transaction is not None else _files(dataset)


def new_fingerprint() -> str:
    """Return a new identity."""
    return str(uuid.uuid4())  # noqa: TID251 - Lance requires a uuid


def operation_of(dataset: Any, version: int) -> str | None:
    """Return the operation id that a version carries."""
    transaction = _transaction(dataset, version)
    if transaction is None:
        return None
    found = (transaction.transaction_properties or {}).get(OPERATION)
    return None if found is None else str(found)


def is_commit_of(dataset: Any, base: int, operation_id: str) -> bool:
    """Return whether an operation committed a version on top of another one."""
    transaction = _transaction(dataset, dataset.version)
    if transaction is None or transaction.read_version != base:
        return False
    return operation_of(dataset, dataset.version) == operation_id


def _transaction(dataset: Any, version: int) -> Any | None:
    try:
        return dataset.read_transaction(version)
    except LANCE_ERRORS:
        return None


def _files(dataset: Any) -> str:
    names: list[str] = []
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        names += [file.path for file in metadata.files]
        if metadata.deletion_file is not None:
            names.append(metadata.deletion_file.path(metadata.id))
    return "files-" + hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()
