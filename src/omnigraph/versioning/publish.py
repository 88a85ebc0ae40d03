"""The one door to visibility: a strict compare-and-swap on a branch's manifest.

A publication is data: the contents of the commit, the pins that it moves, and the preconditions on
the head that it follows. ``publish`` reads the head, checks the preconditions against that very
head, swaps, and makes sure that what it swapped in is what readers will find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from omnigraph.api.commits import Commit, CommitRef, Counts, WriterKind
from omnigraph.errors import (
    Conflict,
    GraphError,
    OperationVoid,
    OutcomeUnknown,
    PinChanged,
    StaleHead,
    StorageFault,
)
from omnigraph.frozen import frozen
from omnigraph.ports.tables import table_version
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import ulid_micros
from omnigraph.versioning.chain import (
    CommitPresence,
    commits_since,
    find_commit,
    require_commit,
)
from omnigraph.versioning.invariants import require_successor
from omnigraph.versioning.manifest import Manifest, Void, number_pins

if TYPE_CHECKING:
    from omnigraph.catalog.model import TypeId
    from omnigraph.ports.tables import Pin
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "ManifestDraft",
    "OperationPublished",
    "Publication",
    "SwapUnanswered",
    "publish",
    "require_new_key",
    "require_preconditions",
]


class SwapUnanswered(StorageFault):
    """The swap failed again and again without a verdict: a late one may still land."""


class OperationPublished(Conflict):
    """An operation that was about to be voided has landed."""


@frozen
class ManifestDraft:
    """The contents of a new commit, before its parent, time and place are known."""

    id: CommitId
    branch: str
    kind: WriterKind
    actor: str | None = None
    message: str | None = None
    counts: Counts = field(default_factory=Counts)
    merged_parent: CommitRef | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    hard_drops: tuple[str, ...] = ()
    # When the merged parent was made: a commit is later than both its parents.
    later_than_micros: int = 0


@frozen
class Publication:
    """Changes and preconditions of one commit."""

    draft: ManifestDraft
    incarnation: str
    # The head that the attempt captured.
    captured: CommitRef
    schema: str
    # Pins that move, and pins that go (a dropped type).
    moved: Mapping[TypeId, Pin] = field(default_factory=dict)
    dropped: frozenset[TypeId] = frozenset()
    # The fingerprint that every table written or read had at capture; None for one that was not
    # there.
    expected: Mapping[TypeId, str | None] = field(default_factory=dict)
    new_schema: str | None = None
    if_commit: str | None = None
    voids: tuple[CommitId, ...] = ()
    tombstone: bool = False


# Given the publication and the head, raises when the head is not acceptable.
Precondition = Callable[["GraphRoot", Publication, Manifest], None]


def _at_once() -> None:
    """Nothing to wait for."""


def publish(
    root: GraphRoot,
    heads: Heads,
    publication: Publication,
    *,
    ready: Callable[[], None] = _at_once,
) -> Manifest:
    """Make a new commit visible, in at most ``publish_retries`` retries; idempotent by commit id.

    Before each swap ``ready`` is called: it returns when the commit may become visible.
    Returns the manifest of the commit, visible and as durable as the graph wants it. Raises a
    ``Conflict`` that names the failed precondition, or ``OutcomeUnknown`` when nobody can know
    whether the commit landed.
    """
    lost: Exception | None = None
    for _ in range(root.limits.publish_retries + 1):
        if lost is not None:
            root.require_in_place()
        head = heads.of_incarnation(publication.incarnation)
        reach("publish.head_read")
        landed = _already_published(root, publication, head)
        if landed is not None:
            return _made_durable(root, publication, landed)
        heads.require_newest(head)
        require_preconditions(root, publication, head)
        new = _successor(root, publication, head)
        require_successor(head, new)
        ready()
        try:
            return _swap(root, heads, publication, new)
        except GraphError as fault:
            # Raced; or the reply is lost, not the write: the next round looks for the commit id
            # first, and a swap of the same number decides which of the two happened.
            lost = fault
        heads.forget(publication.incarnation)
    return _resolve_outcome(root, heads, publication, lost)


def _resolve_outcome(
    root: GraphRoot, heads: Heads, publication: Publication, cause: BaseException | None
) -> Manifest:
    """Look for the commit; raise what is known about it when it is not there."""
    try:
        head = heads.of_incarnation(publication.incarnation)
        landed = _already_published(root, publication, head)
    except (OutcomeUnknown, OperationVoid):
        raise
    except GraphError as error:
        raise _unknown(publication, str(error)) from cause
    if landed is not None:
        return _made_durable(root, publication, landed)
    if isinstance(cause, GraphError) and not isinstance(cause, Conflict):
        raise SwapUnanswered(
            cause.code, cause.message, details=cause.details, remedy=cause.remedy
        ) from cause
    raise StaleHead(
        "publish.contended",
        f"branch {publication.draft.branch!r} kept moving while the commit was published",
        remedy="try again; use a branch of your own when many write at once",
        details={"branch": publication.draft.branch},
    ) from cause


# --- preconditions, asked of the very head that is overwritten -----------------------------------


def _operation_is_young(root: GraphRoot, publication: Publication, _: Manifest) -> None:
    """Void ids are forgotten after a while; half of it allows for clocks that disagree."""
    age = root.clock.now_micros() - ulid_micros(publication.draft.id)
    if age > root.limits.void_memory_seconds * 1_000_000 / 2:
        raise Conflict(
            "attempt.too_old",
            f"operation {publication.draft.id} is too old to be published; nothing was written",
            remedy="run it again",
            details={"commit_id": publication.draft.id},
        )


def _branch_is_open(_: GraphRoot, publication: Publication, head: Manifest) -> None:
    if head.tombstone:
        raise Conflict(
            "branch.deleted",
            f"branch {publication.draft.branch!r} was deleted meanwhile; nothing was written",
        )


def _schema_is_unchanged(_: GraphRoot, publication: Publication, head: Manifest) -> None:
    if head.commit.schema != publication.schema:
        raise StaleHead(
            "schema.changed",
            f"the schema of branch {publication.draft.branch!r} changed meanwhile",
            remedy="read the new schema and prepare the write again",
            details={"expected": publication.schema, "actual": head.commit.schema},
        )


def _pins_are_unchanged(_: GraphRoot, publication: Publication, head: Manifest) -> None:
    for type_id, expected in publication.expected.items():
        pin = head.pins.get(type_id)
        if (pin.fingerprint if pin else None) != expected:
            raise PinChanged(
                "pin.changed",
                f"table {type_id} changed on branch {publication.draft.branch!r} meanwhile",
                remedy="read again and prepare the write again",
                # The writer, which has the captured view, adds the expected version.
                details={"table_key": type_id, "actual": table_version(pin)},
            )


def _if_commit_holds(root: GraphRoot, publication: Publication, head: Manifest) -> None:
    require_commit(root, publication.draft.branch, head, publication.if_commit)


def _key_is_unused(root: GraphRoot, publication: Publication, head: Manifest) -> None:
    key = publication.draft.idempotency_key
    if key is not None:
        require_new_key(root, key, head, since=publication.captured.id)


def require_new_key(root: GraphRoot, key: str, head: Manifest, *, since: str) -> None:
    """No commit after ``since`` may have an idempotency key already."""
    for commit in commits_since(root, head, since):
        if commit.idempotency_key == key:
            raise Conflict(
                "idempotency.raced",
                f"another request with idempotency key {key!r} was committed as {commit.id}",
                remedy="send the request again: it will be answered with that commit",
                details={"commit_id": commit.id},
            )


def _voided_is_unpublished(root: GraphRoot, publication: Publication, head: Manifest) -> None:
    """A fence may not follow what it voids: between its decision and its swap it looks again."""
    for commit in commits_since(root, head, publication.captured.id):
        if commit.id in publication.voids:
            raise OperationPublished(
                "operation.published", f"operation {commit.id} was published meanwhile"
            )


def _graph_is_in_place(root: GraphRoot, publication: Publication, head: Manifest) -> None:
    del publication, head
    root.require_in_place()


PRECONDITIONS: tuple[Precondition, ...] = (
    _operation_is_young,
    _branch_is_open,
    # Before the checks whose failure makes a writer prepare again.
    _if_commit_holds,
    _schema_is_unchanged,
    _pins_are_unchanged,
    _key_is_unused,
    _voided_is_unpublished,
    _graph_is_in_place,
)


def require_preconditions(root: GraphRoot, publication: Publication, head: Manifest) -> None:
    """Raise the conflict that stands between a publication and a head."""
    for check in PRECONDITIONS:
        check(root, publication, head)


# --- the swap -------------------------------------------------------------------------------------


def _already_published(
    root: GraphRoot, publication: Publication, head: Manifest
) -> Manifest | None:
    """Asked first: after a roll-forward by others one's own pins look like a foreign change."""
    own = publication.draft.id
    if head.is_void(own):
        raise OperationVoid(
            "operation.void",
            f"operation {own} was declared void by recovery; it had no effect",
            remedy="run the operation again",
            details={"commit_id": own},
        )
    if head.commit.id == publication.captured.id:
        return None
    presence, commit = find_commit(root, head, own, until=publication.captured.id)
    if presence is CommitPresence.CUT:
        raise _unknown(publication, "cleanup removed the commits between")
    return root.manifest(commit.ref.incarnation, commit.ref.version) if commit else None


def _successor(root: GraphRoot, publication: Publication, head: Manifest) -> Manifest:
    draft = publication.draft
    parents_micros = max(head.commit.time_micros, draft.later_than_micros)
    now = max(root.clock.now_micros(), parents_micros + 1)
    version = head.version + 1
    oldest = now - int(root.limits.void_memory_seconds * 1_000_000)
    kept = tuple(void for void in head.voids if void.since_micros >= oldest)
    pins = {key: pin for key, pin in head.pins.items() if key not in publication.dropped}
    return Manifest(
        publication.incarnation,
        version,
        Commit(
            ref=CommitRef(draft.id, publication.incarnation, version),
            branch=draft.branch,
            kind=draft.kind,
            time_micros=now,
            schema=publication.new_schema or head.commit.schema,
            parent=_as_seen(head),
            merged_parent=draft.merged_parent,
            actor=draft.actor,
            message=draft.message,
            counts=draft.counts,
            idempotency_key=draft.idempotency_key,
            request_digest=draft.request_digest,
            hard_drops=draft.hard_drops,
        ),
        pins | number_pins(publication.moved, head.pins),
        (*kept, *(Void(operation, now) for operation in publication.voids)),
        tombstone=publication.tombstone,
    )


def _as_seen(head: Manifest) -> CommitRef:
    """The head as this branch holds it: its copy outlives the branch that it was forked from."""
    return replace(head.commit.ref, incarnation=head.incarnation, version=head.version)


def _swap(root: GraphRoot, heads: Heads, publication: Publication, new: Manifest) -> Manifest:
    """Put the manifest under its number, and make sure that the number was never free before."""
    started = root.clock.monotonic()
    reach("publish.before_swap")
    if not root.store.add(new):
        raise _stale(publication)
    reach("publish.swapped")
    if root.store.exists(new.incarnation, new.version - 1):
        heads.learn(new, seen=started)
        root.store.leave_hint(new)
        reach("publish.checked")
        return new
    # Cleanup removed the number below. It did so after our put, or it had removed ours before:
    # then nobody will ever see our manifest. The parent chain of the newest commit decides.
    root.require_in_place()
    heads.forget(publication.incarnation)
    landed = _already_published(root, publication, heads.of_incarnation(publication.incarnation))
    if landed is None:
        raise _stale(publication)
    return landed


def _made_durable(root: GraphRoot, publication: Publication, landed: Manifest) -> Manifest:
    """Sync a commit that was found, not put: the process that put it may have died before."""
    try:
        root.store.make_durable(landed.incarnation, landed.version)
    except GraphError as error:
        raise _unknown(publication, f"it is visible but not yet safe: {error}") from error
    return landed


def _stale(publication: Publication) -> StaleHead:
    return StaleHead(
        "publish.stale",
        f"branch {publication.draft.branch!r} has moved on; the commit is not part of it",
        remedy="read again and prepare the write again",
    )


def _unknown(publication: Publication, why: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "commit.outcome_unknown",
        f"it cannot be told whether commit {publication.draft.id} landed: {why}",
        remedy="look for the commit id in `omnigraph commit list` before you repeat the write",
        details={"commit_id": publication.draft.id, "branch": publication.draft.branch},
    )
