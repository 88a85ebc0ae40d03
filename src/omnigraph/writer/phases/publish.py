"""Publish: the commit becomes visible on its branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.runtime.cancellation import check_cancelled
from omnigraph.runtime.faults import reach
from omnigraph.versioning import publish as versioning_publish

if TYPE_CHECKING:
    from omnigraph.writer.transaction import WriteTransaction

__all__ = ["publish"]


def publish(transaction: WriteTransaction) -> None:
    """Publish the new pins; the preconditions are checked against the head that is replaced."""
    check_cancelled()
    context, publication = transaction.context, transaction.publication
    complete = replace(publication, moved={**publication.moved, **transaction.pins})

    def before_swap() -> None:
        transaction.may_be_published = True

    transaction.manifest = versioning_publish.publish(
        context.root, context.heads, complete, ready=before_swap
    )
    reach("attempt.published")
