"""The three-way decision about one entity: base, ours and theirs.

A state is a row by property identity, or None where the entity does not exist; a property missing
from a row has no value. Only states count, not the way to them: an entity that was deleted and
inserted again with the same values has not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.api.conflicts import ConflictKind
from omnigraph.frozen import frozen

__all__ = [
    "Disagreement",
    "Resolved",
    "Row",
    "Verdict",
    "decide",
    "differing",
    "reconsider",
    "same",
]

Row = Mapping[str, Any]


@frozen
class Resolved:
    """The resolved state of an entity; None if it does not exist."""

    row: Row | None


@frozen
class Disagreement:
    """Both sides made different changes.

    ``merged`` holds everything that they agree on, and ours elsewhere."""

    kind: ConflictKind
    properties: tuple[str, ...]
    merged: Row | None


Verdict = Resolved | Disagreement


def decide(base: Row | None, ours: Row | None, theirs: Row | None) -> Verdict:
    """Take the change of the side that made one; property by property where both did."""
    if same(ours, theirs) or same(base, theirs):
        return Resolved(ours)
    if same(base, ours):
        return Resolved(theirs)
    if ours is None or theirs is None:
        survivor = ours or theirs
        changed = differing(base, survivor) if base is not None else ()
        return Disagreement(ConflictKind.DELETE_VS_UPDATE, changed, ours)
    if base is None:
        return Disagreement(ConflictKind.DIVERGENT_INSERT, differing(ours, theirs), ours)
    return _by_property(base, ours, theirs)


def _by_property(base: Row, ours: Row, theirs: Row) -> Verdict:
    merged = dict(ours)
    disputed = []
    for key in differing(ours, theirs):
        before, mine, other = base.get(key), ours.get(key), theirs.get(key)
        if before == mine:
            merged[key] = other
        elif before != other:
            disputed.append(key)
    if disputed:
        return Disagreement(ConflictKind.DIVERGENT_UPDATE, tuple(disputed), merged)
    return Resolved(merged)


def reconsider(
    verdict: Disagreement, bases: Sequence[Row | None], ours: Row | None, theirs: Row | None
) -> Verdict:
    """Compare a disagreement with other bases.

    Criss-cross histories have several merge bases. A change on both sides of one base may be a
    change that one side got from the other; another base that includes it reveals the true author.
    Bases that contradict each other leave the disagreement.
    """
    if verdict.kind is not ConflictKind.DIVERGENT_UPDATE:
        resolved = [decide(base, ours, theirs) for base in bases]
        found = [each for each in resolved if isinstance(each, Resolved)]
        agreed = bool(found) and all(same(each.row, found[0].row) for each in found)
        return found[0] if agreed else verdict
    merged, disputed = dict(verdict.merged or {}), []
    for key in verdict.properties:
        mine, other = (ours or {}).get(key), (theirs or {}).get(key)
        reported = {
            base.get(key) == mine for base in bases if base and base.get(key) in (mine, other)
        }
        if len(reported) == 1:
            merged[key] = other if reported == {True} else mine
        else:
            disputed.append(key)
    if disputed:
        return Disagreement(verdict.kind, tuple(disputed), merged)
    return Resolved(merged)


def same(left: Row | None, right: Row | None) -> bool:
    """Return whether two states are equal."""
    if left is None or right is None:
        return left is right
    return not differing(left, right)


def differing(left: Row | None, right: Row | None) -> tuple[str, ...]:
    """Return the properties in which two rows differ, in the order of the first."""
    old, new = left or {}, right or {}
    return tuple(key for key in {**old, **new} if old.get(key) != new.get(key))
