"""Stored queries: checked at the start, listed with types, invoked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.server.conftest import POLICY, TOKENS, G, Serve, bearer

from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


def test_the_catalogue_has_types_and_leaves_out_what_is_not_exposed(
    open_server: httpx.Client,
) -> None:
    assert open_server.get(f"{G}/queries").json() == {
        "queries": [
            {
                "name": "add_person",
                "tool_name": "add_person",
                "mutation": True,
                "params": [
                    {"name": "name", "nullable": False, "kind": "string"},
                    {"name": "born", "nullable": True, "kind": "date"},
                ],
            },
            {
                "name": "person",
                "tool_name": "person",
                "mutation": False,
                "params": [{"name": "name", "nullable": False, "kind": "string"}],
                "description": "One person by name.",
            },
        ]
    }


def test_what_is_not_exposed_can_be_invoked_all_the_same(open_server: httpx.Client) -> None:
    assert open_server.post(f"{G}/queries/hidden").json()["rows"] == [{"n": 2}]


def test_a_read_and_a_mutation_answer_as_themselves(open_server: httpx.Client) -> None:
    done = open_server.post(
        f"{G}/queries/add_person",
        json={"params": {"name": "Emmy", "born": "1882-03-23"}, "branch": "review"},
    ).json()
    assert (done["branch"], done["affected_nodes"]) == ("review", 1)
    found = open_server.post(
        f"{G}/queries/person", json={"params": {"name": "Emmy"}, "branch": "review"}
    ).json()
    assert found["rows"] == [{"p.name": "Emmy", "p.born": "1882-03-23"}]
    assert found["graph_commit_id"] == done["commit"]["graph_commit_id"]


def test_a_kind_that_was_not_expected_is_400(open_server: httpx.Client) -> None:
    for name, expected in (("person", True), ("add_person", False)):
        body = {"params": {"name": "Ada"}, "expect_mutation": expected}
        answer = open_server.post(f"{G}/queries/{name}", json=body)
        assert answer.status_code == 400
        assert answer.json()["reason"] == "query.other_kind"
    body = {"params": {"name": "x"}, "snapshot": "v1"}
    assert open_server.post(f"{G}/queries/add_person", json=body).status_code == 400
    for params in ({}, {"name": 1}, {"name": "Ada", "nope": 1}):
        answer = open_server.post(f"{G}/queries/person", json={"params": params})
        assert answer.status_code == 400


def test_a_conditional_invocation_is_a_compare_and_swap(open_server: httpx.Client) -> None:
    head = open_server.get(f"{G}/branches").json()["heads"]["main"]
    path = f"{G}/queries/add_person/if-graph-commit"
    said = {"Omnigraph-If-Graph-Commit": head}
    first = open_server.post(path, json={"params": {"name": "A"}}, headers=said)
    assert first.status_code == 200
    second = open_server.post(path, json={"params": {"name": "B"}}, headers=said)
    assert second.status_code == 412
    assert second.json()["precondition_failure"] == {
        "expected": head,
        "actual": first.json()["commit"]["graph_commit_id"],
    }
    read = open_server.post(f"{G}/queries/person/if-graph-commit", headers=said)
    assert read.status_code == 400


def test_unknown_and_not_granted_look_the_same(policed: httpx.Client) -> None:
    for path in ("queries/{}", "queries/{}/if-graph-commit"):
        answers = []
        for name in ("person", "add_person", "nonsense"):
            answer = policed.post(
                f"{G}/{path.format(name)}",
                headers={
                    **bearer("bob"),
                    "X-Request-Id": "same",
                    "Omnigraph-If-Graph-Commit" if "commit" in path else "X-Nothing": "0" * 26,
                },
            )
            answers.append((answer.status_code, answer.text.replace(name, "NAME")))
        assert answers[0][0] == 404
        assert len(set(answers)) == 1
    assert policed.get(f"{G}/queries", headers=bearer("bob")).json() == {"queries": []}


def test_a_query_about_something_hidden_does_not_show_its_text(serve: Serve, queries: Path) -> None:
    hiding = """\
  - id: readers-invoke
    allow:
      actors: {group: readers}
      actions: [invoke_query, change]
  - id: readers-see-no-birthdays
    deny:
      actors: {group: readers}
      actions: [read]
      properties: [Person.born]
"""
    client = serve(tokens=TOKENS, policy=POLICY + hiding, queries=str(queries))
    for name in ("person", "add_person"):
        body = {"params": {"name": "Ada"}}
        answer = client.post(f"{G}/queries/{name}", json=body, headers=bearer("bob"))
        assert (answer.status_code, answer.json()["reason"]) == (403, "policy.denied")
        assert "born" not in answer.text
    assert client.post(f"{G}/queries/hidden", headers=bearer("bob")).status_code == 200


def test_a_mutation_is_gated_twice(serve: Serve, queries: Path) -> None:
    policy = POLICY.replace("actions: [read]", "actions: [read, invoke_query]")
    client = serve(tokens=TOKENS, policy=policy, queries=str(queries))
    read = client.post(
        f"{G}/queries/person", json={"params": {"name": "Ada"}}, headers=bearer("bob")
    )
    assert read.status_code == 200
    change = client.post(
        f"{G}/queries/add_person", json={"params": {"name": "X"}}, headers=bearer("bob")
    )
    assert change.status_code == 403
    assert change.json()["details"]["action"] == "change"


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.gq", "query q() { match { $p: Persn } return { $p.name } }", "T1"),
        ("a.gq", "query q( {", None),
        ("a.gq", "query person() { match { $p: Person } return { $p.name } }", "queries.duplicate"),
        ("queries.json", "{", "queries.bad_settings"),
        ("queries.json", '{"person": {"expose": 1}}', "queries.bad_settings"),
        ("queries.json", '{"person": {"tool_name": "../x"}}', "queries.bad_settings"),
        ("queries.json", '{"person": {"tool_name": ""}}', "queries.bad_settings"),
        ("queries.json", '{"nope": {"expose": true}}', "queries.unknown"),
    ],
)
def test_a_broken_query_stops_the_start(
    serve: Serve, queries: Path, name: str, text: str, code: str | None
) -> None:
    (queries / name).write_text(text, encoding="utf-8")
    with pytest.raises(GraphError) as told:
        serve(unauthenticated=True, queries=str(queries))
    assert code is None or told.value.code == code


def test_a_directory_that_is_not_there_stops_the_start(serve: Serve, tmp_path: Path) -> None:
    with pytest.raises(GraphError) as told:
        serve(unauthenticated=True, queries=str(tmp_path / "nope"))
    assert told.value.code == "queries.no_directory"


def test_a_query_that_a_new_schema_breaks_is_told_and_mended_by_the_next(
    open_server: httpx.Client,
) -> None:
    schema = open_server.get(f"{G}/schema").json()["schema_source"]
    without = {"schema_source": schema.replace("    born: Date?\n", "")}
    done = open_server.post(f"{G}/schema/apply", json=without).json()
    assert [each["name"] for each in done["broken_queries"]] == ["add_person", "person"]
    assert "born" in done["broken_queries"][0]["error"]
    listed = open_server.get(f"{G}/queries").json()["queries"]
    assert [(each["name"], each["broken"]) for each in listed] == [
        ("add_person", True),
        ("person", True),
    ]
    refused = open_server.post(f"{G}/queries/person", json={"params": {"name": "Ada"}})
    assert refused.status_code == 400
    assert open_server.post(f"{G}/queries/hidden").status_code == 200
    mended = open_server.post(f"{G}/schema/apply", json={"schema_source": schema}).json()
    assert "broken_queries" not in mended
    assert not any("broken" in each for each in open_server.get(f"{G}/queries").json()["queries"])
