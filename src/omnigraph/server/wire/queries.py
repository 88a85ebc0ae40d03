"""Bodies of queries, mutations and stored queries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from omnigraph.server.wire.base import (
    BranchName,
    CommitId,
    CommitOutput,
    CountsOutput,
    Params,
    Rows,
    WireInput,
    WireOutput,
)

__all__ = [
    "BudgetInput",
    "ChangeOutput",
    "ExplainInput",
    "ExplainOutput",
    "InvokeInput",
    "MutateInput",
    "ParamDescriptor",
    "ProfileInput",
    "QueryInput",
    "ReadOutput",
    "StoredQueriesOutput",
    "StoredQueryOutput",
    "TargetOutput",
]

Traversal = Literal["csr", "indexed"]
_OLDER_NAMES = {"query_source": "query", "query_name": "name"}


class BudgetInput(WireInput):
    """The budget of a query; the server applies the tighter of this and its own."""

    rows: Annotated[int, Meta(ge=1)] | None = None
    seconds: Annotated[float, Meta(gt=0)] | None = None
    memory_bytes: Annotated[int, Meta(ge=1)] | None = None


class QueryInput(WireInput):
    """A read query in `.gq`; `name` selects one of several.

    `query_source` and `query_name` are deprecated names of `query` and `name`.
    """

    ALIASES = _OLDER_NAMES

    query: str
    name: str | None = None
    params: Params = field(default_factory=dict)
    branch: BranchName | None = None
    snapshot: str | None = None
    traversal: Traversal | None = None
    budget: BudgetInput | None = None


class ExplainInput(WireInput):
    query: str
    name: str | None = None
    branch: BranchName | None = None
    snapshot: str | None = None
    traversal: Traversal | None = None


class ProfileInput(QueryInput):
    """A read query to be profiled."""


class MutateInput(WireInput):
    """A mutation in `.gq`, run as one commit.

    `query_source` and `query_name` are deprecated names of `query` and `name`.
    """

    ALIASES = _OLDER_NAMES

    query: str
    name: str | None = None
    params: Params = field(default_factory=dict)
    branch: BranchName | None = None
    message: str | None = None
    dry_run: bool = False


class InvokeInput(WireInput):
    """Parameters of a stored query, and its target."""

    params: Params = field(default_factory=dict)
    branch: BranchName | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None
    message: str | None = None


class TargetOutput(WireOutput):
    branch: str | None = None
    snapshot: str | None = None


class ReadOutput(WireOutput):
    query_name: str
    target: TargetOutput
    row_count: int
    columns: list[str]
    rows: Rows
    graph_commit_id: CommitId | None = None


class ExplainOutput(WireOutput):
    """A plan, operator by operator; a profile adds measurements."""

    query_name: str
    target: TargetOutput
    graph_commit_id: CommitId
    plan: dict[str, Any]
    row_count: int | None = None
    seconds: float | None = None
    cache: dict[str, int] | None = None


class ChangeOutput(WireOutput):
    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    counts: CountsOutput
    actor_id: str | None = None
    commit: CommitOutput | None = None
    dry_run: bool = False


class ParamDescriptor(WireOutput):
    """A parameter; bigint, date, datetime and blob travel as JSON strings."""

    name: str
    kind: Literal[
        "string",
        "bool",
        "int",
        "bigint",
        "float",
        "date",
        "datetime",
        "blob",
        "vector",
        "list",
    ]
    nullable: bool
    item_kind: str | None = None
    vector_dim: int | None = None
    values: list[str] | None = None


class StoredQueryOutput(WireOutput):
    name: str
    tool_name: str
    mutation: bool
    params: list[ParamDescriptor]
    description: str | None = None
    instruction: str | None = None
    # Whether it no longer compiles against the schema of main.
    broken: bool = False


class StoredQueriesOutput(WireOutput):
    queries: list[StoredQueryOutput]
