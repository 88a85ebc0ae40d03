"""The numbered manifests of the branches of a graph.

``__manifest/<incarnation>/<n>.json`` is put once, if it is absent, and is durable before it is
visible: that put is the compare-and-swap of the graph. It is strict because the numbers of a branch
form a contiguous range. A publish adds the number above the highest one; cleanup removes the lowest
one, and then the next. So a number was never free before if the number below it still exists, and
an existing number without a successor is the newest.

The newest number is found from a start: one that the process knows, or a hint. Numbers between a
start and the newest one exist, so doubling steps and a bisection need as many probes as the
distance has digits. A hint may lag; it is written after the number that it names, so one above the
newest number shows that manifests are missing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from omnigraph.errors import GraphError, NotFound
from omnigraph.versioning import layout
from omnigraph.versioning.manifest import decode_manifest, encode_manifest

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore
    from omnigraph.versioning.manifest import Manifest

__all__ = ["ManifestStore"]

# A damaged hint may hold any text.
_HINT_DIGITS_MAX = 18


class ManifestStore:
    """Reads and adds manifests. Stateless, so it is shared by threads."""

    def __init__(self, objects: ObjectStore, hints: ObjectStore) -> None:
        self._objects = objects
        # Hints need not survive a power cut.
        self._hints = hints

    def read(self, incarnation: str, number: int) -> Manifest:
        """Read one manifest; ``manifest.missing`` or ``manifest.malformed`` where that fails."""
        try:
            text = self._objects.get(layout.manifest(incarnation, number))
        except NotFound as missing:
            raise _missing(incarnation, f"there is no number {number}") from missing
        return decode_manifest(incarnation, number, text)

    def exists(self, incarnation: str, number: int) -> bool:
        """Whether a number is taken: one small probe."""
        return self._objects.exists(layout.manifest(incarnation, number))

    def add(self, manifest: Manifest) -> bool:
        """Put a manifest under its number; False when another one has it.

        When this returns, the manifest is as durable as the graph promises.
        """
        key = layout.manifest(manifest.incarnation, manifest.version)
        return self._objects.put_if_absent(key, encode_manifest(manifest))

    def make_durable(self, incarnation: str, number: int) -> None:
        """Make a visible manifest survive a power cut: the process that put it may have died."""
        self._objects.sync(layout.manifest(incarnation, number))

    def newest(self, incarnation: str, *, start: int = 0) -> int:
        """Find the highest number of a branch, at or above one that existed.

        ``NotFound`` for a branch without manifests.
        """
        newest = (
            self._climb(incarnation, start)
            or self._climb(incarnation, self.hint(incarnation))
            or self._climb(incarnation, 1)
            or self._listed(incarnation)
        )
        if not newest:
            raise _missing(incarnation, "there are no manifests")
        return newest

    def hint(self, incarnation: str) -> int:
        """Read a number that the branch had once; 0 without a readable hint."""
        try:
            text = self._hints.get(layout.manifest_hint(incarnation))
        except GraphError:
            return 0
        number = text.partition(b" ")[0]
        if not number.isdigit() or len(number) > _HINT_DIGITS_MAX:
            return 0
        # A changed digit could name a manifest that never was, which reads as a lost one.
        return int(number) if text == _hint_text(incarnation, int(number)) else 0

    def leave_hint(self, manifest: Manifest) -> None:
        """Write the number of a published manifest, for cold opens. It is only a hint: it may be
        lost, and a slower writer may replace it by an older one."""
        key = layout.manifest_hint(manifest.incarnation)
        text = _hint_text(manifest.incarnation, manifest.version)
        with suppress(GraphError):
            if "://" in self._hints.uri:
                self._hints.put(key, text)
            else:
                # A file system may flush a file that replaces another one: 0.5 ms on ext4, 0.03 ms
                # without the replacement.
                self._hints.delete(key)
                self._hints.put_if_absent(key, text)

    def _climb(self, incarnation: str, low: int) -> int:
        """Find the newest number at or above one; 0 when that one does not exist."""
        if not low:
            return 0
        step = 1
        while self.exists(incarnation, low + step):
            low += step
            step *= 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if self.exists(incarnation, middle):
                low = middle
            else:
                high = middle
        # Cleanup removes from the lowest number up. The number below still exists, so its successor
        # was not removed before it was looked for.
        return low if self.exists(incarnation, low) else 0

    def _listed(self, incarnation: str) -> int:
        """The highest number by a listing: cleanup has removed every place to start from."""
        keys = self._objects.list(layout.manifest_path(incarnation))
        return max(map(layout.manifest_number, keys), default=0)


def _hint_text(incarnation: str, number: int) -> bytes:
    """A number with a checksum over it and its branch."""
    return f"{number} {crc32(f'{incarnation}/{number}'.encode()):08x}".encode()


def _missing(incarnation: str, problem: str) -> NotFound:
    place = layout.manifest_path(incarnation)
    return NotFound("manifest.missing", f"{place}: {problem}", details={"place": place})
