"""The fence: a commit that moves no pin and declares an operation void.

A writer that was paused and wakes up finds its swap lost, looks for its operation, finds it void,
and fails without effect. A writer that gives up after its confirmation puts the fence up itself,
before it reports the failure, so that nobody can roll it forward later.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.errors import NotFound, OutcomeUnknown, StaleHead
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning.chain import CommitPresence, commits_since, find_commit
from omnigraph.versioning.publish import ManifestDraft, OperationPublished, Publication, publish

if TYPE_CHECKING:
    from omnigraph.runtime.ids import CommitId
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = [
    "RECOVERY_ACTOR",
    "OperationStatus",
    "fence",
    "operation_status",
    "publish_without_effect",
    "recovery_commit_of",
]

RECOVERY_ACTOR = "omnigraph:recovery"


class OperationStatus(StrEnum):
    """The outcome of an operation, as far as its branch shows it."""

    PUBLISHED = "published"
    VOID = "void"
    # The branch is deleted: nothing can be published on it any more.
    MOOT = "moot"
    OPEN = "open"


def operation_status(
    root: GraphRoot, heads: Heads, lineage: Lineage, publication: Publication
) -> OperationStatus:
    """Ask the head, then the chain back to the captured head, then the archive."""
    # The old path of a moved graph is not the graph, even if something was made there anew.
    root.require_in_place()
    operation = publication.draft.id
    head = heads.of_incarnation(publication.incarnation)
    if head.is_void(operation):
        return OperationStatus.VOID
    presence, _ = find_commit(root, head, operation, until=publication.captured.id)
    if presence is CommitPresence.PRESENT:
        return OperationStatus.PUBLISHED
    if head.tombstone:
        return OperationStatus.MOOT
    if presence is CommitPresence.CUT:
        if lineage.knows(operation):
            return OperationStatus.PUBLISHED
        raise OutcomeUnknown(
            "commit.outcome_unknown",
            f"cleanup removed the commits that would tell whether {operation} was published",
            remedy="look for its effects before you repeat it",
            details={"commit_id": operation, "branch": publication.draft.branch},
        )
    return OperationStatus.OPEN


def recovery_commit_of(root: GraphRoot, heads: Heads, publication: Publication) -> str | None:
    """Return the commit that published or voided an operation; None when cleanup removed it.

    Looked up by content, not remembered: the recoverer that published it may have died since.
    """
    operation = publication.draft.id
    void_message = _void_message(operation)
    try:
        head = heads.of_incarnation(publication.incarnation)
        for commit in commits_since(root, head, publication.captured.id):
            voids = commit.kind is WriterKind.RECOVERY and commit.message == void_message
            if voids or commit.id == operation:
                return commit.id
    except NotFound:
        return None
    return None


def _void_message(operation: str) -> str:
    return f"void {operation}"


def publish_without_effect(
    root: GraphRoot,
    heads: Heads,
    head: Manifest,
    message: str,
    *,
    branch: str,
    voids: tuple[CommitId, ...] = (),
) -> Manifest:
    """Publish a recovery commit on a branch: it moves no pin, and may declare operations void."""
    return publish(
        root,
        heads,
        Publication(
            draft=ManifestDraft(
                new_ulid(root.clock),
                branch,
                WriterKind.RECOVERY,
                actor=RECOVERY_ACTOR,
                message=message,
            ),
            incarnation=head.incarnation,
            captured=head.commit.ref,
            schema=head.commit.schema,
            voids=voids,
        ),
    )


def fence(
    root: GraphRoot, heads: Heads, lineage: Lineage, publication: Publication
) -> OperationStatus:
    """Make sure that an operation is either published already or can never be. Idempotent."""
    for _ in range(root.limits.publish_retries + 1):
        fate = operation_status(root, heads, lineage, publication)
        if fate is not OperationStatus.OPEN:
            return fate
        head = heads.of_incarnation(publication.incarnation)
        draft = publication.draft
        try:
            publish_without_effect(
                root, heads, head, _void_message(draft.id), branch=draft.branch, voids=(draft.id,)
            )
        except (StaleHead, OperationPublished):
            continue
        reach("recovery.fenced")
        return OperationStatus.VOID
    raise StaleHead(
        "recovery.contended",
        f"branch {publication.draft.branch!r} kept moving while {publication.draft.id} was voided",
    )
