"""Branch manifests: tables that are replaced as a whole by compare-and-swap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

__all__ = ["ManifestStore", "StagedSwap"]


@frozen
class StagedSwap:
    """The rows of a manifest, written but not published, in the adapter's own terms."""

    schema: pa.Schema
    fragments: tuple[Any, ...]
    handle: Any


class ManifestStore(Protocol):
    """Version histories that one writer at a time extends by a whole new version."""

    def swap(
        self, path: str, expected: int, rows: pa.Table | StagedSwap, *, operation_id: str
    ) -> int:
        """Publish ``rows`` as version ``expected + 1``, or raise ``Conflict("table.raced")``.

        ``rows`` may come from ``stage_swap`` with the same arguments. ``expected`` 0 creates the
        table. A lost reply is resolved where possible; a ``StorageFault`` leaves the outcome open.
        Strict only while ``expected + 1`` was never removed: read the head immediately before, and
        verify it afterwards.
        """
        ...

    def stage_swap(self, path: str, expected: int, rows: pa.Table) -> StagedSwap:
        """Write the rows of a swap without referencing them."""
        ...

    def read_version(self, path: str, version: int) -> pa.Table:
        """Return all rows of one version, without a fingerprint check."""
        ...

    def latest_version(self, path: str) -> int:
        """Return the newest version number."""
        ...

    def has_version(self, path: str, version: int) -> bool:
        """Return whether a version exists: one small probe, never a listing."""
        ...

    def unfinished(self, path: str, version: int) -> Sequence[str]:
        """Return the operation ids of commits that were begun on the newest version.

        They are in flight, failed, or published as a version that is missing now. One listing.
        """
        ...

    def quarantine_torn(
        self, path: str, version: int, *, before_removal: Callable[[str], None] | None = None
    ) -> str:
        """Move an unparsable newest version aside, after reading it twice; returns its new key.

        ``Conflict("table.not_torn")`` when it is not the newest or can be read. Its number will be
        assigned again unless ``occupy`` takes it; call it alone. ``before_removal`` gets the new
        key while both the copy and the version exist: a record written there is written once, even
        when the process dies repeatedly.
        """
        ...

    def occupy(self, path: str, version: int, *, operation_id: str) -> None:
        """Commit a version without change under the number that ``quarantine_torn`` freed.

        ``Conflict("table.raced")`` when another commit took the number.
        """
        ...
