"""The load operation: collect, validate, commit, and optionally create the branch."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from omnigraph.api.writes import Mode
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    GraphError,
    NotFound,
    OutcomeUnknown,
)
from omnigraph.frozen import frozen
from omnigraph.loading.collect import collect
from omnigraph.loading.writer import LoadWriter
from omnigraph.policy.actions import Action
from omnigraph.session.idempotency import RACED, digest_of, find_earlier
from omnigraph.versioning.branches import create_branch, delete_branch
from omnigraph.versioning.chain import require_commit
from omnigraph.versioning.snapshot import open_snapshot
from omnigraph.writer.plan import Writer, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.api.commits import Commit
    from omnigraph.api.writes import LoadRequest, LoadResult
    from omnigraph.catalog.model import Catalog
    from omnigraph.loading.batches import CollectedInput
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.snapshot import Snapshot

    _RunTransaction = Callable[[WriteRequest, Writer], Manifest | None]

__all__ = ["BaseSnapshot", "LoadOperation", "commit_load", "find_base", "load"]


@frozen
class BaseSnapshot:
    """The snapshot that a load is based on; ``missing``: its branch must be created first."""

    snapshot: Snapshot
    missing: bool


class LoadOperation(Writer, Protocol):
    """A load whose input was read, in process or by Spark."""

    def validate(self, snapshot: Snapshot) -> object:
        """Validate the load against a snapshot and raise all violations. Writes nothing."""
        ...

    def dry_run_result(self, snapshot: Snapshot) -> LoadResult:
        """Validate and count; write nothing."""
        ...

    def result(self, commit: Commit | None, *, created: bool = False) -> LoadResult:
        """Build the result for the user."""
        ...


def load(
    engine: Engine,
    request: LoadRequest,
    allow: Callable[[Sequence[str]], None] | None = None,
    *,
    seen: Engine | None = None,
) -> LoadResult:
    """Load an input as one commit, or leave the graph as it is.

    The catalog of ``seen`` types the input, and ``allow`` authorises its types before anything is
    written.
    """
    base = find_base(engine, request)
    with engine.running.during("load", request.branch, request.actor):
        root = engine.root
        catalog = (seen or engine).root.catalog(base.snapshot.manifest.commit.schema)
        collected, content = collect(request, catalog, root.limits, tables=root.tables)
        if allow is not None:
            allow(sorted(entity.name for entity in collected.entities.values()))
        whole = base.snapshot.catalog
        _widen_types(collected, request.mode, whole)
        shown = None if catalog is whole else catalog
        writer = LoadWriter(request, collected, base.snapshot.manifest.commit.schema, shown)
        return commit_load(engine, request, base, writer, content)


def _widen_types(collected: CollectedInput, mode: Mode, whole: Catalog) -> None:
    """Complete rows of types with hidden properties to all properties of the type.

    The author cannot name hidden properties, so stored rows keep them. A load that would erase
    them, or that cannot name the key, is refused.
    """
    for key, entity in list(collected.entities.items()):
        full = whole.types[key]
        if entity == full:
            continue
        if mode is Mode.OVERWRITE or entity.key != full.key:
            raise Forbidden(
                "policy.denied",
                f"the policy hides properties of {entity.name} from you, "
                f"which a load with mode {mode} would erase"
                if entity.key == full.key
                else f"the policy hides the key of {entity.name} from you",
                details={"action": Action.CHANGE.value, "types": [entity.name]},
                remedy="load with mode merge, which keeps what it does not name"
                if entity.key == full.key
                else "ask for permission to read the key",
            )
        collected.widen(full)


def commit_load(
    engine: Engine,
    request: LoadRequest,
    base: BaseSnapshot,
    writer: LoadOperation,
    content: str | None,
    *,
    long: bool = False,
) -> LoadResult:
    """Commit a collected load. ``content`` is its digest, if the request has a key."""
    digest = None
    if request.idempotency_key is not None:
        digest = digest_of("load", request.mode, request.type, content)
        earlier = None if base.missing else _earlier(engine, request, digest)
        if earlier is not None:
            return replace(writer.result(earlier), dry_run=request.dry_run)
    if request.dry_run:
        require_commit(engine.root, request.branch, base.snapshot.manifest, request.if_commit)
        return writer.dry_run_result(base.snapshot)
    order = WriteRequest(
        request.branch,
        request.actor,
        request.message,
        request.if_commit,
        request.idempotency_key,
        digest,
        base.snapshot.commit_id if digest is not None else None,
    )
    attempt = engine.transactions.run_long if long else engine.transactions.run
    try:
        if base.missing:
            return _load_onto_new_branch(engine, order, writer, base, attempt)
        return _run(order, writer, attempt)
    except Conflict as error:
        # A concurrent retry of the same request committed first.
        concurrent = _earlier(engine, request, digest) if digest and error.code == RACED else None
        if concurrent is None:
            raise
        return writer.result(concurrent)


def find_base(engine: Engine, request: LoadRequest) -> BaseSnapshot:
    """Return the snapshot that a load is based on."""
    if not request.dry_run:
        engine.root.require_writable()
    try:
        _, head = engine.heads.of_branch(request.branch)
    except NotFound:
        if request.from_ is None:
            raise
        head = engine.resolver.resolve(request.from_)
        return BaseSnapshot(open_snapshot(engine.root, head), missing=True)
    return BaseSnapshot(open_snapshot(engine.root, head), missing=False)


def _earlier(engine: Engine, request: LoadRequest, digest: str) -> Commit | None:
    if request.idempotency_key is None:
        return None
    return find_earlier(engine, request.branch, request.idempotency_key, digest)


def _load_onto_new_branch(
    engine: Engine,
    order: WriteRequest,
    writer: LoadOperation,
    base: BaseSnapshot,
    attempt: _RunTransaction,
) -> LoadResult:
    """Create the branch after validation, and delete it if the commit fails.

    A killed process can leave the branch without the load, as if a user had created it.
    """
    writer.validate(base.snapshot)
    started = engine.root.clock.now_micros()
    mine = True
    try:
        mine = _create_branch(engine, order.branch, base)
        return _run(order, writer, attempt, created=mine)
    except OutcomeUnknown:
        raise
    except BaseException:
        if mine:
            with suppress(GraphError):
                _delete_created_branch(engine, order, base.snapshot.commit_id, since_micros=started)
        raise


def _create_branch(engine: Engine, name: str, base: BaseSnapshot) -> bool:
    """Create the branch; return False if another process created it meanwhile."""
    try:
        create_branch(engine.root, engine.heads, name, base.snapshot.manifest)
    except AlreadyExists as error:
        if error.code != "branch.exists":
            raise
        return False
    return True


def _delete_created_branch(
    engine: Engine, order: WriteRequest, fork: str, *, since_micros: int
) -> None:
    """Delete the branch created for a load, unless another writer has committed to it."""
    ref, head = engine.heads.of_branch(order.branch)
    since = takewhile(lambda commit: commit.id != fork, engine.lineage.history(head))
    # The failed transaction may have left a commit that voids it.
    unused = all(commit.kind.is_maintenance for commit in since)
    if unused and ref.created_at_micros >= since_micros:
        delete_branch(engine.root, engine.heads, order.branch, actor=order.actor)


def _run(
    order: WriteRequest, writer: LoadOperation, attempt: _RunTransaction, *, created: bool = False
) -> LoadResult:
    manifest = attempt(order, writer)
    return writer.result(manifest.commit if manifest else None, created=created)
