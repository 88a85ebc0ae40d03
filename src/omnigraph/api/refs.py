"""Entries of the listings of branches and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.api.commits import Commit
    from omnigraph.api.names import BranchName
    from omnigraph.errors import (
        StorageFault,
    )
    from omnigraph.runtime.ids import CommitId

__all__ = [
    "BranchHead",
    "BranchInfo",
    "BranchRef",
    "DamagedRef",
    "RefList",
    "T",
    "TagRef",
    "damage_to_json",
]


T = TypeVar("T")


@frozen
class BranchRef:
    """One numbered ref: an open branch or a tombstone."""

    name: BranchName
    number: int
    incarnation: str
    open: bool
    created_at_micros: int
    # The fork commit; None for main.
    fork_commit: CommitId | None = None
    fork_incarnation: str | None = None
    # Distinguishes a lost race from a lost reply.
    nonce: str = ""


@frozen
class TagRef:
    """A permanent name of a commit."""

    name: str
    commit: CommitId
    incarnation: str
    version: int
    created_at_micros: int
    actor: str | None = None
    nonce: str = ""


class BranchHead(Protocol):
    """The head of a branch: its commit, and the version of its manifest."""

    @property
    def commit(self) -> Commit: ...

    @property
    def version(self) -> int: ...


@frozen
class BranchInfo:
    """An open branch and its head."""

    ref: BranchRef
    head: BranchHead


@frozen
class DamagedRef:
    """A branch or tag that exists and cannot be read, with the reason."""

    name: str
    fault: StorageFault

    def to_json(self) -> dict[str, Any]:
        body = self.fault.to_json()
        body.pop("details", None)
        return {"name": self.name, **body}


class RefList(list[T], Generic[T]):
    """A listing of branches or tags; unreadable ones are listed in ``damaged``."""

    def __init__(self, readable: Iterable[T] = (), damaged: Iterable[DamagedRef] = ()) -> None:
        super().__init__(readable)
        self.damaged = tuple(damaged)

    def require_complete(self) -> RefList[T]:
        """Return the listing, or raise the fault of its first damaged entry."""
        for ref in self.damaged:
            raise ref.fault
        return self


def damage_to_json(damaged: Iterable[DamagedRef]) -> dict[str, Any]:
    """Encode the damaged refs of a listing; empty if there are none."""
    entries = [ref.to_json() for ref in damaged]
    return {"damaged": entries} if entries else {}
