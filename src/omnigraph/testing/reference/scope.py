"""Surroundings of an expression: what it may read beside its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.testing.reference.graph import Binding, Graph

__all__ = ["Embed", "Scope"]

# The vector of a text for a property of a type.
Embed = Callable[[str, str, str], Sequence[float]]


@dataclass
class Scope:
    """One evaluation of a read."""

    graph: Graph
    catalog: Catalog
    params: Mapping[str, Any]
    now: dt.datetime
    embed: Embed | None = None
    # The rows that a rank fusion ranks: those of the query, once they are known.
    ranked: Sequence[Binding] | None = None
    # The rows that aggregates of the result range over.
    group: Sequence[Binding] = ()
    # Values that are expensive and constant within the evaluation, by what they belong to.
    memo: dict[Any, Any] = field(default_factory=dict)
