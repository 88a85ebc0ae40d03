"""Setting a torn manifest aside.

A power cut can leave a manifest that cannot be parsed. While it is the newest, Lance refuses every
write and every cleanup of the dataset, so it is moved to another name, never deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.adapters.lance.handles.failures import table_missing, version_missing
from omnigraph.errors import Conflict, StorageFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.adapters.lance.handles.cache import HandleCache
    from omnigraph.adapters.lance.handles.versions import VersionHistory
    from omnigraph.ports.objects import ObjectStore

__all__ = ["quarantine_torn"]


def quarantine_torn(
    objects: ObjectStore,
    handles: HandleCache,
    versions: VersionHistory,
    path: str,
    version: int,
    *,
    before_removal: Callable[[str], None] | None = None,
) -> str:
    """Move the manifest of ``version`` aside; returns its new key.

    Refused when it is not the newest, when it can be read after all or belongs to a newer Lance,
    and when it changes while being looked at: then somebody is still writing it. Whoever keeps a
    record writes it in ``before_removal``: cut short there, the next try comes to the same key.
    """
    _require_newest(versions, path, version)
    key = versions.key(path, version)
    body = objects.get(key)
    if not _is_torn(handles, path, version):
        raise _refusal(path, version, "it can be read")
    if not _is_torn(handles, path, version) or objects.get(key) != body:
        raise _refusal(path, version, "it changed while it was looked at")
    number = 1
    # A copy with the same bytes counts as ours: an earlier quarantine was cut short here.
    while not objects.put_if_absent(f"{key}.torn-{number}", body):
        number += 1
    aside = f"{key}.torn-{number}"
    if before_removal is not None:
        before_removal(aside)
    objects.delete(key)
    return aside


def _require_newest(versions: VersionHistory, path: str, version: int) -> None:
    present = versions.list(path)
    if not present:
        raise table_missing(path)
    if version not in present:
        raise version_missing(path, version)
    if version != present[-1]:
        raise _refusal(path, version, f"version {present[-1]} is newer")


def _is_torn(handles: HandleCache, path: str, version: int) -> bool:
    try:
        handles.at(path, version)
    except StorageFault as fault:
        if fault.code != "table.torn":
            raise
        return True
    return False


def _refusal(path: str, version: int, reason: str) -> Conflict:
    return Conflict(
        "table.not_torn",
        f"table {path}: version {version} was left in place: {reason}",
        details={"table": path, "version": version},
    )
