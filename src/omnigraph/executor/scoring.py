"""The seam to search: what text predicates, scores and fusions ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.ir.expressions import RankFusion, Score, TextMatch
    from omnigraph.semantics.columns.column import Vector
    from omnigraph.semantics.columns.truth import Truth

    Ints = npt.NDArray[np.int64]

__all__ = ["Scoring"]


class Scoring(Protocol):
    """Answers the search expressions of one query."""

    def check(self) -> None:
        """Refuse what cannot be searched for, before there is a row to ask."""
        ...

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        """A text predicate for each row."""
        ...

    def score(self, expr: Score, rows: Bindings) -> Vector:
        """A distance or a relevance for each row; NULL where there is none."""
        ...

    def best(
        self, expr: Score, rows: Bindings, count: int, *, of_all: bool
    ) -> tuple[Ints, Vector] | None:
        """The places of rows, ascending, that have so many best ones among them, and their scores.

        Rows that the score does not rank are left out. ``of_all``: the query chose among all rows
        of a type and not among some of them. None: it is not worth choosing.
        """
        ...

    def fuse(self, expr: RankFusion, rows: Bindings) -> Vector:
        """The fused rank of each row among all of them."""
        ...
