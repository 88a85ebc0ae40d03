"""Prepare: the writer computes, validates and stages its change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from omnigraph.runtime.concurrency import concurrently
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning.publish import ManifestDraft, Publication

if TYPE_CHECKING:
    from omnigraph.versioning.root import GraphRoot
    from omnigraph.writer.plan import PreparedWrite, Writer, WriteRequest, WriteSnapshot
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["new_publication", "prepare"]


def prepare(transaction: WriteTransaction) -> bool:
    """Prepare the change; False when nothing would change. Syncs staged files in the background."""
    root = transaction.context.root
    prepared = transaction.writer.prepare(transaction.view)
    transaction.pace.seconds = root.clock.monotonic() - transaction.started
    if prepared is None:
        return False
    reach("attempt.prepared")
    transaction.prepared = prepared
    transaction.publication = new_publication(
        root, transaction.request, transaction.writer, transaction.view, prepared
    )
    sync = partial(_sync_staged, root, prepared)
    transaction.staged_synced = transaction.stack.enter_context(
        concurrently(sync, apart=root.durable)
    )
    return True


def _sync_staged(root: GraphRoot, prepared: PreparedWrite) -> None:
    if root.durable:
        root.tables.sync((), [effect.staged for effect in prepared.effects])


def new_publication(
    root: GraphRoot,
    request: WriteRequest,
    writer: Writer,
    view: WriteSnapshot,
    prepared: PreparedWrite,
) -> Publication:
    """Describe the commit of a prepared write, under a new operation id."""
    touched = {effect.type_id for effect in prepared.effects}
    watched = touched | prepared.reads | set(prepared.created) | prepared.dropped
    pins = view.head.pins
    return Publication(
        draft=ManifestDraft(
            id=new_ulid(root.clock),
            branch=request.branch,
            kind=writer.kind,
            actor=request.actor,
            message=request.message,
            counts=prepared.counts,
            merged_parent=prepared.merged_parent,
            later_than_micros=prepared.later_than_micros,
            idempotency_key=request.idempotency_key,
            request_digest=request.request_digest,
            hard_drops=prepared.hard_drops,
        ),
        incarnation=view.ref.incarnation,
        captured=view.head.commit.ref,
        schema=view.head.commit.schema,
        moved=dict(prepared.created),
        dropped=prepared.dropped,
        expected={key: pins[key].fingerprint if key in pins else None for key in watched},
        new_schema=prepared.new_schema,
        if_commit=request.if_commit,
    )
