"""Translation of Lance's exceptions to the error tree.

Lance raises OSError and ValueError for nearly everything, with the cause in the text. The few texts
that matter are matched here and verified by tests/substrate.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.adapters.remedies import remedy_for
from omnigraph.errors import Conflict, InvalidInput, NotFound, StorageFault, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LANCE_ERRORS",
    "is_conflict",
    "is_newer_format",
    "newer_format",
    "panics_as_errors",
    "reading",
    "storage_fault",
    "table_damaged",
    "table_missing",
    "table_raced",
    "table_torn",
    "version_missing",
    "writing",
]

# ``panics_as_errors`` raises RuntimeError.
LANCE_ERRORS = (OSError, ValueError, RuntimeError, TypeError, NotImplementedError)

# The text of Ctrl-C, and of a SIGTERM that ends a process, inside of a stream of batches.
_STOPPED = re.compile(r"External error: (?:KeyboardInterrupt|SystemExit: (\d+))")
# Texts of missing, truncated or overwritten files. Transient failures (network, permission) match
# none of them.
_DAMAGE = re.compile(
    r"[Cc]orrupt|[Nn]ot found|Invalid range|Protobuf|Parser error|Ipc error|magic|panic"
    r"|Global buffer|metadata range|Invalid direct \w+ encoding|failed to fill whole buffer"
    r"|terminated before end of stream|negative or overflowing position"
)
_CONFLICTS = (
    "Incompatible transaction",
    "Retryable commit conflict",
    "Commit conflict",
    "Too many concurrent writers",
    "Dataset already exists",
)


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise panics of Lance, which some torn files cause, as RuntimeError."""
    try:
        yield
    except BaseException as error:
        # The binding creates the class at run time, so it cannot be imported.
        if type(error).__name__ == "PanicException":
            raise RuntimeError(f"panic: {error}") from error
        raise


def is_conflict(error: BaseException) -> bool:
    """Return whether an error means that another commit came first."""
    text = str(error)
    return type(error).__name__ == "CommitConflictError" or any(mark in text for mark in _CONFLICTS)


def is_newer_format(error: BaseException) -> bool:
    """Return whether a version was written by an unsupported, newer Lance."""
    return "by this version of Lance" in str(error)


def storage_fault(code: str, path: str, error: BaseException) -> StorageFault:
    """Build a fault of a table. An interrupt inside of Lance is raised as an interrupt."""
    stopped = _STOPPED.search(str(error))
    if stopped is not None:
        raise (SystemExit(int(stopped[1])) if stopped[1] else KeyboardInterrupt) from error
    reason = _reason(error)
    return StorageFault(
        code,
        f"table {path}: {reason}",
        details={"table": path},
        remedy=remedy_for(reason) if code == "table.unwritable" else None,
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Translate failures of reads of an open version.

    Lance reports most damaged files as "Invalid user input", so damage is recognised first; what
    remains is a request that does not fit the table.
    """
    try:
        with panics_as_errors():
            yield
    except LANCE_ERRORS as error:
        if _DAMAGE.search(str(error)):
            raise table_damaged(path, error) from error
        if "Invalid user input" in str(error):
            raise InvalidInput(
                "table.request", f"table {path}: {_reason(error)}", details={"table": path}
            ) from error
        raise storage_fault("table.unreadable", path, error) from error


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Translate failures of writing staged files; the first rows of a table can lose a race."""
    try:
        yield
    except LANCE_ERRORS as error:
        if is_conflict(error):
            raise table_raced(path, 1) from error
        raise storage_fault("table.unwritable", path, error) from error


def table_missing(path: str) -> NotFound:
    return NotFound("table.missing", f"there is no table {path}", details={"table": path})


def version_missing(path: str, version: int) -> NotFound:
    return NotFound(
        "table.version_missing",
        f"table {path} has no version {version}",
        details={
            "table": path,
            "version": version,
            "file": f"{path}/_versions/{manifest_name(version)}",
        },
        remedy="It may have been cleaned up; choose a snapshot within the retention.",
    )


def table_torn(path: str, version: int) -> StorageFault:
    """Build the error of a manifest that exists but cannot be parsed, as after a power cut."""
    return StorageFault(
        "table.torn",
        f"table {path}: the manifest of version {version} is torn",
        details={"table": path, "version": version},
        remedy="Open the graph read-write; a torn version that nothing refers to is set aside.",
    )


def table_damaged(path: str, error: BaseException) -> StorageFault:
    """Build the error of a file that is missing or has other contents."""
    fault = storage_fault("table.damaged", path, error)
    fault.remedy = (
        "A file of the table is missing or damaged: bring it back from a copy of the graph. "
        "Other tables, and commits that do not use the file, stay readable."
    )
    return fault


def newer_format(path: str, version: int) -> Unsupported:
    return Unsupported(
        "table.newer_format",
        f"table {path}: version {version} was written by a newer Lance",
        details={"table": path, "version": version},
        remedy="Upgrade OmniGraph first.",
    )


def table_raced(path: str, expected: int, actual: int | None = None) -> Conflict:
    """Build the error of a lost race for a version."""
    found = "another one" if actual is None else f"version {actual}"
    return Conflict(
        "table.raced",
        f"table {path}: version {expected} was expected, {found} was committed meanwhile",
        details={"table": path, "expected": expected, "actual": actual},
        remedy="Read again and prepare again.",
    )


def _reason(error: BaseException) -> str:
    """Return the text of an error without the source locations that Lance appends."""
    return str(error).split(", /", maxsplit=1)[0].strip() or type(error).__name__
