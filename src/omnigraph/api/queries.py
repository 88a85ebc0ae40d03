"""Requests of reads, and the plans that explain and profile return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.api.names import MAIN
from omnigraph.frozen import frozen
from omnigraph.language.source import DEFAULT_SOURCE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.api.results import QueryResult, ReadTarget
    from omnigraph.runtime.budget import Budget
    from omnigraph.runtime.ids import CommitId

__all__ = [
    "ExplainedOperator",
    "Explanation",
    "QueryRequest",
    "format_count",
    "render",
]


# Not frozen: one is created per query, and freezing costs more than the rest of it.
@dataclass(slots=True)
class QueryRequest:
    """A query, its target, its parameters and its budget.

    ``traversal`` is ``csr`` (uses and loads adjacencies in memory) or ``indexed`` (looks up edges
    in the index); the planner chooses the cheaper one by default. The result does not depend on it.
    """

    text: str
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    target: str = MAIN
    source_name: str = DEFAULT_SOURCE_NAME
    budget: Budget | None = None
    traversal: str | None = None
    actor: str | None = None


@frozen
class ExplainedOperator:
    """One operator. ``notes`` are facts by name; ``measured`` holds the measurements of a run."""

    operator: str
    title: str
    estimated_rows: float
    notes: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, float] | None = None
    inputs: tuple[ExplainedOperator, ...] = ()

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "operator": self.operator,
            "title": self.title,
            "estimated_rows": round(self.estimated_rows, 2),
            **self.notes,
        }
        if self.measured is not None:
            body["measured"] = dict(self.measured)
        if self.inputs:
            body["inputs"] = [below.to_json() for below in self.inputs]
        return body


@frozen
class Explanation:
    """A plan on one snapshot; a profile adds the measurements and the result of a run."""

    query_name: str
    commit_id: CommitId
    target: ReadTarget
    plan: ExplainedOperator
    result: QueryResult | None = None
    seconds: float | None = None
    # The use of the shared cache after the profiled run.
    cache: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self.plan)

    def __repr__(self) -> str:
        return f"<Explanation of {self.query_name}>\n{self}"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "query_name": self.query_name,
            "target": self.target.to_json(),
            "graph_commit_id": self.commit_id,
            "plan": self.plan.to_json(),
        }
        if self.result is not None:
            body["row_count"] = len(self.result)
            body["seconds"] = self.seconds
            body["cache"] = dict(self.cache)
        return body


def render(explained: ExplainedOperator) -> str:
    """Render the tree as text, one line per operator with its notes below."""
    return "\n".join(_lines(explained, "", ""))


def _lines(node: ExplainedOperator, lead: str, rest: str) -> Iterator[str]:
    yield f"{lead}{node.operator} {node.title}".rstrip() + f"   {_rows(node)}"
    indent = f"{rest}{'│ ' if node.inputs else '  '}"
    for name, note in node.notes.items():
        shown = ", ".join(note) if isinstance(note, list) else note
        if shown:
            yield f"{indent}  {name}: {shown}"
    for place, below in enumerate(node.inputs):
        last = place == len(node.inputs) - 1
        yield from _lines(
            below, f"{rest}{'└─ ' if last else '├─ '}", f"{rest}{'   ' if last else '│  '}"
        )


def _rows(node: ExplainedOperator) -> str:
    expected = f"~{format_count(node.estimated_rows)}"
    if node.measured is None:
        return f"({expected} rows)"
    found = node.measured
    times = f" in {found['runs']:.0f} runs" if found["runs"] > 1 else ""
    return (
        f"({format_count(found['rows'])} rows{times}, expected {expected}; "
        f"{found['seconds'] * 1e3:.3f} ms; {_bytes(found['bytes'])})"
    )


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def format_count(rows: float) -> str:
    """Format a number of rows, with an estimate below one as ``<1``."""
    return f"{max(round(rows), 0):,}" if rows >= 1 or rows == 0 else "<1"
