"""The three snapshots of a merge, and what each type's pins say about who changed it."""

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
    """Who changed a type since the base, as far as pins tell: nothing is read for it."""

    # Theirs did not, or did exactly what ours did: ours stays.
    OURS = auto()
    # Only theirs did: its pin can be taken over as it is.
    THEIRS = auto()
    BOTH = auto()


@dataclass(frozen=True)
class MergeSnapshots:
    """``ours`` is the branch that will be written; the change from ``base`` to ``theirs`` is what
    it shall get. To merge a branch, the base is what the two have in common; to pick a commit, its
    parent; to revert one, base and theirs are the commit and its parent, in this order.

    ``other_bases`` are there for histories that crossed: see ``decide.reconsider``."""

    base: Snapshot
    ours: Snapshot
    theirs: Snapshot
    other_bases: tuple[Snapshot, ...] = ()

    def swapped(self) -> MergeSnapshots:
        """The same three with the sides exchanged."""
        return MergeSnapshots(self.base, self.theirs, self.ours, self.other_bases)

    def types(self) -> list[TypeId]:
        """Every type that one of the three has."""
        manifests = (self.base.manifest, self.ours.manifest, self.theirs.manifest)
        return sorted({key for manifest in manifests for key in manifest.pins})

    def state(self, type_id: TypeId) -> TypeState:
        base, ours, theirs = self.pins(type_id)
        if theirs is None or theirs == ours:
            return TypeState.OURS
        if ours is None:
            # Nothing of ours can stay: what theirs has is taken, or the type is not there.
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
