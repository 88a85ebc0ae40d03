"""Compares syntax trees of either language without positions."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from omnigraph.language.source import NO_SPAN, Span

__all__ = ["strip_spans"]

_Tree = TypeVar("_Tree")


def strip_spans(tree: _Tree) -> _Tree:
    """Replace every span of a tree by the same one; a missing span stays missing."""
    stripped: Any = _strip(tree)
    return stripped  # type: ignore[no-any-return] # the shape is the tree's own


def _strip(value: Any) -> Any:
    if isinstance(value, Span):
        return NO_SPAN
    if isinstance(value, tuple):
        return tuple(_strip(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _strip(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **fields)
    return value
