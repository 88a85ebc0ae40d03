"""Every door is asked about: each public method of the facade, before it does anything."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.errors import Forbidden, InvalidInput
from omnigraph.graph import changes, namespaces
from omnigraph.graph.at import EmbeddedGraphAt
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.open import open_graph
from omnigraph.policy.reading import parse_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = "node Person { name: String @key\n email: String? }\nedge Knows: Person -> Person { }"
NOBODY = parse_bundle("version: 1\nrules: []")

# These tell nothing of what is in a graph and change nothing in it.
UNASKED = {
    "EmbeddedGraph": {
        "acting_as",
        "actor",
        "budget",
        "close",
        "engine",
        "authorizer",
        "guard",
        "id",
        "target",
        "uri",
    },
    "EmbeddedGraphAt": {"actor", "engine", "authorizer", "target"},
}
PARTS = {
    "branches": namespaces.Branches,
    "tags": namespaces.Tags,
    "commits": namespaces.Commits,
    "changes": changes.Changes,
    "recoveries": namespaces.Recoveries,
    "operations": namespaces.Operations,
}
# What a required parameter gets; a new name without an entry fails the test, too.
ARGUMENTS: dict[str, Any] = {
    "after": "main",
    "before": "main",
    "commit_id": "main",
    "id": "ann",
    "left": "main",
    "mode": "merge",
    "name": "dev",
    "newer": "main",
    "older": "main",
    "operation_id": "1",
    "out": "out.ndjson",
    "property": "email",
    "right": "main",
    "schema": SCHEMA,
    "source": "main",
    "target": "main",
    "text": "query q() { match { $p: Person } return { $p.name } }",
    "to": "main",
    "type": "Person",
}


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    made = omnigraph.init(tmp_path / "g.omni", SCHEMA, actor="ann", durability="process")
    made.mutate('query add() { insert Person { name: "ann", email: "a@x" } }')
    made.branches.create("dev")
    made.tags.create("v1")
    return made


def reopened(graph: EmbeddedGraph, policy: Any, actor: str | None) -> EmbeddedGraph:
    return open_graph(graph.uri, policy=policy, actor=actor)


def doors() -> Iterator[tuple[str, str]]:
    yield from (("", name) for name in public(EmbeddedGraph) - UNASKED["EmbeddedGraph"])
    yield from (("at", name) for name in public(EmbeddedGraphAt) - UNASKED["EmbeddedGraphAt"])
    for part, kind in PARTS.items():
        yield from ((part, name) for name in public(kind))


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_facade_has_no_part_that_this_test_does_not_know(graph: EmbeddedGraph) -> None:
    parts = {name for name in vars(graph) if not name.startswith("_")}
    assert parts == set(PARTS)


@pytest.mark.parametrize(("part", "name"), sorted(doors()))
@pytest.mark.parametrize("actor", ["ann", None])
def test_no_method_does_anything_that_policy_does_not_allow(
    graph: EmbeddedGraph, part: str, name: str, actor: str | None
) -> None:
    guarded = reopened(graph, NOBODY, actor)
    holder: Any = guarded
    if part == "at":
        holder = EmbeddedGraphAt(guarded.engine, "main", actor=actor, guard=guarded.guard)
    elif part:
        holder = getattr(guarded, part)
    before = graph.commits.list().commits, graph.branches.list(), graph.tags.list()
    with pytest.raises(Forbidden) as caught:
        call(holder, name)
    assert caught.value.code == "policy.denied"
    assert caught.value.remedy
    assert (graph.commits.list().commits, graph.branches.list(), graph.tags.list()) == before


def call(holder: Any, name: str) -> None:
    if isinstance(inspect.getattr_static(holder, name), property):
        getattr(holder, name)
        return
    method = getattr(holder, name)
    given = {
        parameter.name: ARGUMENTS[parameter.name]
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    }
    answer = method(**given)
    if inspect.isgenerator(answer):
        next(answer)


def test_a_graph_is_not_made_where_policy_forbids_it(tmp_path: Path) -> None:
    with pytest.raises(Forbidden):
        omnigraph.init(tmp_path / "g.omni", SCHEMA, policy=NOBODY, actor="ann")
    assert not (tmp_path / "g.omni").exists()


def test_a_copy_needs_every_branch_and_everything_in_it(
    graph: EmbeddedGraph, tmp_path: Path
) -> None:
    narrow = parse_bundle(
        "version: 1\nrules:\n"
        "  - {id: a, allow: {actors: {group: everyone}, actions: [export], types: [Person]}}"
    )
    for policy in (NOBODY, narrow):
        with pytest.raises(Forbidden):
            omnigraph.clone(graph.uri, tmp_path / "copy", policy=policy, actor="ann")
    assert not (tmp_path / "copy").exists()
    omnigraph.clone(graph.uri, tmp_path / "copy", policy="preset:team", actor="ann")


UNPROTECTED = parse_bundle(
    """\
version: 1
groups: {devs: [dan], owners: [ann]}
protected_branches: [main]
rules:
  - id: devs
    allow:
      actors: {group: devs}
      actions: [read, export, change]
      branch_scope: unprotected
  - id: devs-branch
    allow:
      actors: {group: devs}
      actions: [branch_create, branch_merge, branch_delete]
      target_branch_scope: unprotected
  - id: owners
    allow:
      actors: {group: owners}
      actions: [read, change, branch_create, branch_merge]
"""
)
READ = "query q() { match { $p: Person } return { $p.name } }"


def test_a_target_is_asked_about_as_the_branch_it_belongs_to(graph: EmbeddedGraph) -> None:
    dan = reopened(graph, UNPROTECTED, "dan")
    head = graph.commits.list().commits[0].id
    for target in ("main", "v1", head, head.lower(), "main@v1", "main@2099-01-01T00:00:00Z"):
        with pytest.raises(Forbidden, match=r"may not read on branch 'main'"):
            dan.at(target)
    assert dan.at("dev").query(READ).rows() == [{"p.name": "ann"}]


def test_a_branch_cannot_be_made_to_look_at_what_may_not_be_read(graph: EmbeddedGraph) -> None:
    dan = reopened(graph, UNPROTECTED, "dan")
    with pytest.raises(Forbidden, match="may not read"):
        dan.branches.create("peek", source="main")
    with pytest.raises(Forbidden, match="may not read"):
        dan.load([], mode="merge", branch="peek", from_="main")
    dan.branches.create("mine", source="dev")
    with pytest.raises(Forbidden, match=r"may not branch_merge from 'mine' to 'main'"):
        reopened(graph, UNPROTECTED, "dan").merge("mine", into="main")


@pytest.mark.parametrize("name", [" main", "main ", "\tmain", "mаin", "main\x00"])  # noqa: RUF001 - a look-alike
def test_a_name_that_only_looks_like_a_branch_is_refused_before_the_question(
    graph: EmbeddedGraph, name: str
) -> None:
    dan = reopened(graph, UNPROTECTED, "dan")
    with pytest.raises(InvalidInput, match="branch name"):
        dan.mutate('query add() { insert Person { name: "x" } }', branch=name)
    with pytest.raises(InvalidInput, match="branch name"):
        dan.at(name)


def test_another_actor_shares_the_engine_and_not_the_rights(graph: EmbeddedGraph) -> None:
    ann = reopened(graph, UNPROTECTED, "ann")
    dan = ann.acting_as("dan")
    assert dan.engine is ann.engine
    assert ann.query(READ).rows()
    with pytest.raises(Forbidden):
        dan.query(READ)
    with pytest.raises(Forbidden):
        # Who acts is who is asked about.
        ann.mutate('query add() { insert Person { name: "x" } }', actor="dan")
    done = ann.acting_as("ann").mutate('query add() { insert Person { name: "x" } }')
    assert done.commit is not None
    assert done.commit.actor == "ann"


def test_a_refusal_names_actor_action_branch_and_remedy(graph: EmbeddedGraph) -> None:
    with pytest.raises(Forbidden) as caught:
        reopened(graph, UNPROTECTED, "dan").mutate('query q() { insert Person { name: "x" } }')
    assert caught.value.message == "'dan' may not change on branch 'main'"
    assert caught.value.details == {"action": "change", "actor": "dan", "branch": "main"}
    assert "policy explain" in str(caught.value.remedy)


def test_every_decision_is_logged(graph: EmbeddedGraph, caplog: pytest.LogCaptureFixture) -> None:
    dan = reopened(graph, UNPROTECTED, "dan")
    with caplog.at_level(logging.INFO, "omnigraph.policy"):
        dan.at("dev")
        with pytest.raises(Forbidden):
            dan.at("main")
    told = [
        (record.actor, record.action, record.branch, record.allowed, record.rule)  # type: ignore[attr-defined]
        for record in caplog.records
    ]
    assert told == [("dan", "read", "dev", True, "devs"), ("dan", "read", "main", False, None)]
