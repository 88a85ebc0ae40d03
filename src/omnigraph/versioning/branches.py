"""The verbs of branches: create, list, delete.

Creating one writes one small manifest and one ref, however many types there are. Deleting one
publishes a tombstone through the one door, so a racing publish loses, and then adds a closing ref.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import WriterKind
from omnigraph.api.names import MAIN, parse_branch_name
from omnigraph.api.refs import BranchInfo, BranchRef, DamagedRef, RefList
from omnigraph.errors import AlreadyExists, Conflict, InvalidInput, OutcomeUnknown, StorageFault
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_short_id, new_ulid
from omnigraph.versioning.heads import branch_missing
from omnigraph.versioning.publish import ManifestDraft, Publication, SwapUnanswered, publish
from omnigraph.versioning.refs import new_nonce
from omnigraph.versioning.texts import require_actor

if TYPE_CHECKING:
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["create_branch", "delete_branch", "list_branches", "open_branches"]


def create_branch(root: GraphRoot, heads: Heads, name: str, source: Manifest) -> BranchRef:
    """A new branch whose head is the commit of ``source``."""
    root.require_writable()
    branch = parse_branch_name(name)
    if root.refs.tag(branch) is not None:
        raise _is_tag(branch)
    ruling = _ruling_after_tombstone(root, heads, branch)
    if ruling is not None and ruling.open:
        raise _taken(branch)
    root.require_in_place()
    incarnation = new_short_id()
    fork = source.at(incarnation, 1)
    root.store.make_durable(source.incarnation, source.version)
    root.store.add(fork)
    reach("branch.manifest_written")
    ref = BranchRef(
        name=branch,
        number=ruling.number + 1 if ruling else 1,
        incarnation=incarnation,
        open=True,
        created_at_micros=root.clock.now_micros(),
        fork_commit=source.commit.id,
        fork_incarnation=source.incarnation,
        nonce=new_nonce(),
    )
    if not root.refs.add_branch(ref):
        raise _taken(branch)
    reach("branch.ref_written")
    heads.learn(fork)
    heads.learn_ref(ref)
    if root.refs.tag(branch) is not None:
        # Created since the first look. It cannot have seen this branch, so the branch gives way.
        delete_branch(root, heads, name, force=True)
        raise _is_tag(branch)
    return ref


def list_branches(root: GraphRoot, heads: Heads, *, check: bool = True) -> RefList[BranchInfo]:
    """The open branches with their heads, by name; a damaged one does not hide the others.

    Without ``check``, heads whose successors are missing count as newest.
    """
    found = []
    refs = root.refs.branches()
    damaged = list(refs.damaged)
    for ref in refs:
        if not ref.open:
            continue
        try:
            head = heads.of_ref(ref)
            if check:
                heads.require_newest(head)
        except StorageFault as fault:
            if fault.code != "branch.damaged":
                raise
            damaged.append(DamagedRef(ref.name, fault))
            continue
        if not head.tombstone:
            found.append(BranchInfo(ref, head))
    return RefList(found, sorted(damaged, key=lambda entry: entry.name))


def open_branches(root: GraphRoot, heads: Heads) -> list[str]:
    return [info.ref.name for info in list_branches(root, heads)]


def delete_branch(
    root: GraphRoot,
    heads: Heads,
    name: str,
    *,
    actor: str | None = None,
    force: bool = False,
    if_commit: str | None = None,
) -> None:
    """Delete an open branch. Refused for main, and while open branches were forked from it unless
    forced: their data is their own either way, but people lose sight of where they came from.
    With ``if_commit`` only while it stands there."""
    root.require_writable()
    branch = parse_branch_name(name)
    require_actor(actor)
    if branch == MAIN:
        raise InvalidInput("branch.main", "main cannot be deleted")
    ref = _ruling_after_tombstone(root, heads, branch)
    if ref is None or not ref.open:
        raise branch_missing(branch)
    children = [
        child.name
        for child in root.refs.branches()
        if child.open and child.fork_incarnation == ref.incarnation and _is_alive(heads, child)
    ]
    if children and not force:
        raise Conflict(
            "branch.has_children",
            f"branch {branch!r} has open branches forked from it: {', '.join(children)}",
            remedy="delete them first, or use --force",
            details={"children": children},
        )
    _publish_tombstone(root, heads, ref, actor, if_commit)
    reach("branch.tombstoned")
    _add_deleted_ref(root, ref)


def _is_alive(heads: Heads, ref: BranchRef) -> bool:
    """Whether a branch has no tombstone; a damaged one counts as alive."""
    try:
        return not heads.of_ref(ref).tombstone
    except StorageFault as fault:
        if fault.code != "branch.damaged":
            raise
        return True


def _publish_tombstone(
    root: GraphRoot, heads: Heads, ref: BranchRef, actor: str | None, if_commit: str | None
) -> None:
    """Idempotent: a branch that is deleted twice at once is deleted once."""
    head = heads.of_incarnation(ref.incarnation)
    publication = Publication(
        draft=ManifestDraft(new_ulid(root.clock), ref.name, WriterKind.BRANCH_DELETE, actor=actor),
        incarnation=ref.incarnation,
        captured=head.commit.ref,
        schema=head.commit.schema,
        if_commit=if_commit,
        tombstone=True,
    )
    try:
        publish(root, heads, publication)
    except SwapUnanswered as fault:
        # Unlike a write it is not voided: a request that is still on its way may delete the branch.
        raise OutcomeUnknown(
            "branch.deletion_unknown",
            f"it cannot be told whether branch {ref.name!r} was deleted: {fault.message}",
            remedy="look at `omnigraph branch list`, and delete it again if it is there",
            details={"commit_id": publication.draft.id, "branch": ref.name},
        ) from fault


def _ruling_after_tombstone(root: GraphRoot, heads: Heads, name: str) -> BranchRef | None:
    """The ruling ref; when a deletion died after its tombstone, its missing ref is added first."""
    ref = root.refs.branch(name)
    if ref is None or not ref.open or not heads.of_incarnation(ref.incarnation).tombstone:
        return ref
    _add_deleted_ref(root, ref)
    return root.refs.branch(name)


def _add_deleted_ref(root: GraphRoot, ref: BranchRef) -> None:
    # Losing this put means that another process has added it, which is as good.
    root.refs.add_branch(
        BranchRef(
            name=ref.name,
            number=ref.number + 1,
            incarnation=ref.incarnation,
            open=False,
            created_at_micros=root.clock.now_micros(),
            fork_commit=ref.fork_commit,
            fork_incarnation=ref.fork_incarnation,
            nonce=new_nonce(),
        )
    )


def _is_tag(name: str) -> AlreadyExists:
    return AlreadyExists("tag.exists", f"{name!r} is the name of a tag already")


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists("branch.exists", f"branch {name!r} exists already")
