"""Pages of changes, bounded in number and in bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from omnigraph.api.change_json import change_to_json
from omnigraph.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.changes import EntityChange

__all__ = ["CHANGES_DEFAULT", "CHANGES_MAX", "PageBudget", "page_budget"]

CHANGES_DEFAULT = 1_000
CHANGES_MAX = 8_192
_BYTES_DEFAULT = 4 * 2**20
_BYTES_MAX = 32 * 2**20


class PageBudget:
    """The remaining budget of a page."""

    def __init__(self, changes: int, size: int) -> None:
        self._changes = changes
        self._bytes = size

    @property
    def is_full(self) -> bool:
        return self._changes <= 0 or self._bytes <= 0

    def fill(self, source: Iterator[EntityChange]) -> tuple[list[EntityChange], bool]:
        """Take changes until the page is full; also return whether the source is exhausted."""
        taken: list[EntityChange] = []
        for change in source:
            size = len(json.dumps(change_to_json(change), ensure_ascii=False))
            if size > _BYTES_MAX:
                raise LimitExceeded(
                    "changes.too_large",
                    f"one change of {change.entity.name} {change.id!r} takes {size} bytes",
                    remedy="filter its type out, and read the entity itself",
                    details={"resource_limit": {"name": "change_bytes", "limit": _BYTES_MAX}},
                )
            if self.is_full or (taken and size > self._bytes):
                self._bytes = 0
                return taken, False
            taken.append(change)
            self._changes -= 1
            self._bytes -= size
        return taken, True


def page_budget(limit: int | None) -> PageBudget:
    """Create an empty page of a size; more changes may take more bytes."""
    wanted: object = CHANGES_DEFAULT if limit is None else limit
    if not isinstance(wanted, int) or wanted < 1:
        raise InvalidInput(
            "changes.bad_limit",
            f"the page size must be at least 1, not {wanted!r}",
            remedy=f"use a limit from 1 to {CHANGES_MAX}",
        )
    if wanted > CHANGES_MAX:
        raise LimitExceeded(
            "changes.bad_limit",
            f"the page size must be at most {CHANGES_MAX}",
            remedy="ask for less and follow the page tokens",
            details={"resource_limit": {"name": "changes", "limit": CHANGES_MAX, "actual": wanted}},
        )
    size = max(_BYTES_DEFAULT, _BYTES_DEFAULT * wanted // CHANGES_DEFAULT)
    return PageBudget(wanted, min(size, _BYTES_MAX))
