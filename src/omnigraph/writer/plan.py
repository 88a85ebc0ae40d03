"""What a writer is given, and what it hands over."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from omnigraph.api.commits import CommitRef, Counts, WriterKind, commit_id_of
from omnigraph.api.names import parse_branch_name
from omnigraph.frozen import frozen
from omnigraph.versioning.texts import require_actor, require_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.refs import BranchRef
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin, Staged
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot

__all__ = [
    "PreparedWrite",
    "TableEffect",
    "WriteRequest",
    "WriteSnapshot",
    "Writer",
    "parse_request",
]


@frozen
class WriteRequest:
    """Who writes where, under which condition."""

    branch: str
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    # The head at which nobody had used the key: what came after it is asked again.
    key_new_at: str | None = None


def parse_request(request: WriteRequest) -> WriteRequest:
    """A request as a caller gave it, checked before anything happens."""
    parse_branch_name(request.branch)
    require_actor(request.actor)
    require_message(request.message)
    if request.if_commit is None:
        return request
    return replace(request, if_commit=commit_id_of(request.if_commit))


@frozen
class WriteSnapshot:
    """The one accepted view that an attempt computes on."""

    ref: BranchRef
    head: Manifest
    snapshot: Snapshot


@frozen
class TableEffect:
    """A staged change of one table, on top of the pin that it was staged at."""

    type_id: TypeId
    pin: Pin
    staged: Staged


@frozen
class PreparedWrite:
    """A change that is computed, validated and staged; nobody can see it yet.

    ``reads`` are the tables that predicates, validation, cascades, cardinality and uniqueness
    looked at,
    **even where they found nothing**: the publish is refused when one of them has moved.
    """

    effects: tuple[TableEffect, ...] = ()
    reads: frozenset[TypeId] = frozenset()
    counts: Counts = field(default_factory=Counts)
    # Tables that staging created (a new type) and types that go.
    created: Mapping[TypeId, Pin] = field(default_factory=dict)
    dropped: frozenset[TypeId] = frozenset()
    new_schema: str | None = None
    # What the commit says was dropped for good; see ``Commit.hard_drops``.
    hard_drops: tuple[str, ...] = ()
    # The second parent of a merge, and when it was made.
    merged_parent: CommitRef | None = None
    later_than_micros: int = 0


class Writer(Protocol):
    """One kind of write. ``prepare`` may be called again on a newer view: it then starts over."""

    @property
    def kind(self) -> WriterKind: ...

    @property
    def reprepares(self) -> bool:
        """Whether a moved head may be met by preparing again (inserts, append and merge loads).

        Updates, deletes and overwrites return a conflict instead: they decided on what they read.
        """
        ...

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        """Compute, validate, stage. None when nothing would change: then there is no commit."""
        ...
