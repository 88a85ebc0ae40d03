"""Filters, pages and graphs of commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit, commit_to_json
from omnigraph.api.names import MAIN
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import format_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.api.targets import Target
    from omnigraph.notebook.commit_graph import Dot

__all__ = [
    "CommitFilter",
    "CommitGraph",
    "CommitPage",
    "parents_of",
]


@frozen
class CommitFilter:
    """Selects commits of a branch. Times are microseconds; both bounds are inclusive."""

    target: Target = MAIN
    actor: str | None = None
    kind: str | None = None
    since_micros: int | None = None
    until_micros: int | None = None
    limit: int | None = None
    # The id of the last commit of the previous page.
    page_token: str | None = None
    # Whether commits of maintenance and recovery are omitted.
    hide_maintenance: bool = False


@frozen
class CommitPage:
    commits: tuple[Commit, ...]
    next_page_token: str | None

    def __repr__(self) -> str:
        more = ", and more" if self.next_page_token else ""
        return f"<CommitPage of {len(self.commits)} commits{more}>"

    def __iter__(self) -> Iterator[Commit]:
        return iter(self.commits)

    def __len__(self) -> int:
        return len(self.commits)

    def _repr_html_(self) -> str:
        return _drawing(self.commits, {})

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"commits": [commit_to_json(commit) for commit in self.commits]}
        if self.next_page_token:
            body["next_page_token"] = self.next_page_token
        return body


@frozen
class CommitGraph:
    """Commits with all their parents, newest first, and the branches and tags that name them."""

    commits: tuple[Commit, ...]
    names: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        return f"<CommitGraph of {len(self.commits)} commits>"

    def __iter__(self) -> Iterator[Commit]:
        return iter(self.commits)

    def __len__(self) -> int:
        return len(self.commits)

    def _repr_html_(self) -> str:
        """A drawing for notebooks."""
        return _drawing(self.commits, self.names)


def _drawing(commits: Iterable[Commit], names: Mapping[str, tuple[str, ...]]) -> str:
    from omnigraph.notebook.commit_graph import draw_history  # noqa: PLC0415 - for notebooks only

    return draw_history([_dot(commit, names.get(commit.id, ())) for commit in commits])


def _dot(commit: Commit, names: tuple[str, ...]) -> Dot:
    from omnigraph.notebook.commit_graph import Dot  # noqa: PLC0415 - for notebooks only

    who = f" by {commit.actor}" if commit.actor else ""
    lines = (commit.message or "").splitlines()
    said = f": {lines[0]}" if lines else ""
    text = f"{commit.id} {format_micros(commit.time_micros)} {commit.kind.value}{who}{said}"
    return Dot(commit.id, parents_of(commit), text, names)


def parents_of(commit: Commit) -> tuple[str, ...]:
    return tuple(ref.id for ref in (commit.parent, commit.merged_parent) if ref is not None)
