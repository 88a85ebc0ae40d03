"""Small objects: on a local disk, in memory, in a bucket.

Modules in reading order:

- ``uris``: the URIs that users write.
- ``options``: endpoint and credentials of a bucket.
- ``keys``: the valid keys of all adapters.
- ``local``: files of a local directory.
- ``bucket``: object stores, through obstore.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, assert_never

from omnigraph.adapters.objects.bucket import open_bucket, open_memory
from omnigraph.adapters.objects.local import LocalObjects
from omnigraph.adapters.objects.options import bucket_options
from omnigraph.adapters.objects.uris import Scheme, parse_uri
from omnigraph.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.objects import FileStore

__all__ = ["open_objects"]

_POSIX = os.name == "posix"


def open_objects(
    uri: str, storage_options: Mapping[str, str] | None = None, *, durable: bool = False
) -> FileStore:
    """The object store at a URI. ``durable`` syncs every write; buckets are durable as they are."""
    location = parse_uri(uri)
    match location.scheme:
        case Scheme.LOCAL:
            _require_posix(location.path)
            return LocalObjects(location.path, durable=durable)
        case Scheme.S3:
            return open_bucket(location, bucket_options(storage_options))
        case Scheme.MEMORY:
            return open_memory(location)
        case unknown:
            assert_never(unknown)


def _require_posix(path: str) -> None:
    """A directory is kept safe by hard links and by syncing directories, which Windows lacks."""
    if not _POSIX:
        raise Unsupported(
            "storage.windows",
            f"a graph in a directory of Windows is not supported: {path}",
            remedy="run in WSL, keep the graph in a bucket (s3://…), or ask a server",
        )
