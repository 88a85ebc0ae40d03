"""Everything inside a syntax tree."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["walk"]


def walk(node: object) -> Iterator[Any]:
    """The node and all nodes below it, in the order of the text."""
    pending = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, tuple):
            pending.extend(reversed(found))
        elif dataclasses.is_dataclass(found) and not isinstance(found, Span):
            yield found
            pending.extend(
                getattr(found, field.name) for field in reversed(dataclasses.fields(found))
            )
