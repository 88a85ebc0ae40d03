"""Conflicts about tables in terms of the schema: type names and version numbers.

Storage identifies a table by its type id and a version by its fingerprint. A caller knows neither,
so the writer translates both with the view that the write was prepared on.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict
from omnigraph.ports.tables import table_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.writer.plan import WriteSnapshot

__all__ = ["conflicts_by_type_name"]


@contextmanager
def conflicts_by_type_name(view: WriteSnapshot) -> Iterator[None]:
    """Re-raise table conflicts with ``{table_key: "node:Person", expected: N, actual: M}``."""
    try:
        yield
    except Conflict as error:
        _translate(error, view)
        raise


def _translate(error: Conflict, view: WriteSnapshot) -> None:
    type_id = error.details.get("table_key")
    entity = view.snapshot.catalog.types.get(type_id) if type_id is not None else None
    if entity is None:
        return
    key = f"{entity.kind.value}:{entity.name}"
    error.message = error.message.replace(str(type_id), key)
    error.args = (error.message,)
    error.details["table_key"] = key
    if "actual" in error.details:
        error.details["expected"] = table_version(view.head.pins.get(entity.id))
