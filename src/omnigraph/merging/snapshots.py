"""The three snapshots of a merge, and the changed types by their pins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["MergeSnapshots", "TypeState"]


class TypeState(Enum):
    """The sides that changed a type since the base, determined by pins without reading rows."""

    # Theirs did not change it, or exactly as ours did: keep ours.
    OURS = auto()
    # Only theirs changed it: its pin can be taken over.
    THEIRS = auto()
    BOTH = auto()


@dataclass(frozen=True)
class MergeSnapshots:
    """The inputs of a three-way merge: the change ``base`` to ``theirs``, applied to ``ours``.

    To merge a branch, the base is the common ancestor; to pick a commit, its parent; to revert one,
    base and theirs are the commit and its parent, in this order. ``other_bases`` exist for
    criss-cross histories: see ``three_way.reconsider``."""

    base: Snapshot
    ours: Snapshot
    theirs: Snapshot
    other_bases: tuple[Snapshot, ...] = ()

    def swapped(self) -> MergeSnapshots:
        """Return the same snapshots with the sides exchanged."""
        return MergeSnapshots(self.base, self.theirs, self.ours, self.other_bases)

    def types(self) -> list[TypeId]:
        """Return every type of the three snapshots."""
        manifests = (self.base.manifest, self.ours.manifest, self.theirs.manifest)
        return sorted({key for manifest in manifests for key in manifest.pins})

    def state(self, type_id: TypeId) -> TypeState:
        base, ours, theirs = self.pins(type_id)
        if theirs is None or theirs == ours:
            return TypeState.OURS
        if ours is None:
            # Ours contributes nothing: theirs is taken over, or the type does not exist.
            return TypeState.THEIRS
        if theirs == base:
            return TypeState.OURS
        return TypeState.THEIRS if ours == base else TypeState.BOTH

    def pins(self, type_id: TypeId) -> tuple[Pin | None, Pin | None, Pin | None]:
        return (
            self.base.manifest.pins.get(type_id),
            self.ours.manifest.pins.get(type_id),
            self.theirs.manifest.pins.get(type_id),
        )

    def ours_changed(self, type_id: TypeId) -> bool:
        base, ours, _ = self.pins(type_id)
        return ours != base

    def theirs_changed(self, type_id: TypeId) -> bool:
        base, _, theirs = self.pins(type_id)
        return theirs != base
