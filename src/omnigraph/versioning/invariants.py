"""Rules between a head and its successor, checked before every swap.

These are predicates about the data that is about to become visible. One that fails is a bug of ours
and stops the publish (docs/invariants.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.errors import InvariantBroken

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.versioning.manifest import Manifest

__all__ = ["RULES", "require_successor"]


def _follows(head: Manifest, new: Manifest) -> str | None:
    if new.version != head.version + 1 or new.incarnation != head.incarnation:
        return f"version {new.version} does not follow {head.version}"
    return None


def _names_its_parent(head: Manifest, new: Manifest) -> str | None:
    parent = new.commit.parent
    if parent is None or parent.id != head.commit.id:
        return "the parent of the new commit is not the head"
    return None


def _has_its_own_home(_: Manifest, new: Manifest) -> str | None:
    ref = new.commit.ref
    if (ref.incarnation, ref.version) != (new.incarnation, new.version):
        return "the new commit names another home"
    return None


def _time_moves_forward(head: Manifest, new: Manifest) -> str | None:
    if new.commit.time_micros <= head.commit.time_micros:
        return "the new commit is not later than its parent"
    return None


def _nothing_follows_a_tombstone(head: Manifest, _: Manifest) -> str | None:
    return "the branch is deleted" if head.tombstone else None


def _is_not_void(head: Manifest, new: Manifest) -> str | None:
    return "the operation is void" if head.is_void(new.commit.id) else None


def _pins_are_whole(_: Manifest, new: Manifest) -> str | None:
    for type_id, pin in new.pins.items():
        if not pin.fingerprint or pin.version < 1 or pin.rows < 0 or pin.counter < 1:
            return f"the pin of {type_id} is not whole: {pin}"
    return None


def _recovery_moves_no_pin(head: Manifest, new: Manifest) -> str | None:
    if new.commit.kind is WriterKind.RECOVERY and dict(new.pins) != dict(head.pins):
        return "a recovery commit may not move a pin"
    return None


RULES: tuple[Callable[[Manifest, Manifest], str | None], ...] = (
    _follows,
    _names_its_parent,
    _has_its_own_home,
    _time_moves_forward,
    _nothing_follows_a_tombstone,
    _is_not_void,
    _pins_are_whole,
    _recovery_moves_no_pin,
)


def require_successor(head: Manifest, new: Manifest) -> None:
    """INV-2: only a proper successor may be swapped in."""
    for rule in RULES:
        problem = rule(head, new)
        if problem:
            raise InvariantBroken(2, problem)
