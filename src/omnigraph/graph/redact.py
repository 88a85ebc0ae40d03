"""Removes type names that the actor may not see from conflicts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.session.engine import Engine

__all__ = ["hidden_types_redacted"]


@contextmanager
def hidden_types_redacted(whole: Engine, seen: Engine, branch: str) -> Iterator[None]:
    """Redact a conflict about a table that ``seen`` does not show.

    A cascade or a constraint reads tables of hidden types, and a conflict names the table that
    moved.
    """
    try:
        yield
    except Conflict as error:
        if seen is not whole and "table_key" in error.details:
            _redact(error, seen, branch)
        raise


def _redact(error: Conflict, seen: Engine, branch: str) -> None:
    schema = seen.resolver.resolve(branch).commit.schema
    kind, _, name = str(error.details["table_key"]).partition(":")
    shown = {
        (entity.kind.value, entity.name) for entity in seen.root.catalog(schema).types.values()
    }
    if (kind, name) in shown:
        return
    error.message = f"another commit changed data on branch {branch!r} that this write depends on"
    error.args = (error.message,)
    error.details.clear()
