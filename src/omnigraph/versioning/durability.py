"""Making commits survive a power cut.

Neither Lance nor an object layer syncs a local disk. With ``durability="power"`` a commit is
acknowledged when its data files, its table versions and its manifest are on disk, in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import NotFound
from omnigraph.ports.tables import Pin
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["make_durable"]


def make_durable(root: GraphRoot, manifest: Manifest) -> None:
    """Sync a manifest and the pins that it moved.

    A writer also does this to the head that it builds on: whoever published that may have died
    before it could, and what stands on it would not survive a power cut either.
    """
    key = (manifest.incarnation, manifest.version)
    if root.synced.get(key):
        return
    pins = set(manifest.pins.values()) - set(_pins_of_parent(root, manifest))
    root.tables.sync(sorted(pins, key=lambda pin: pin.path))
    path = layout.manifest_path(manifest.incarnation)
    root.tables.sync([Pin(path, manifest.version, "", 0)])
    root.synced.put(key, value=True)


def _pins_of_parent(root: GraphRoot, manifest: Manifest) -> Iterable[Pin]:
    parent = manifest.commit.parent
    if parent is None:
        return ()
    try:
        return root.manifest(parent.incarnation, parent.version).pins.values()
    except NotFound:
        return ()
