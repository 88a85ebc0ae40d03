"""A text in ``nearest`` at every interface, with one provider that counts what it is sent."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph import pipeline
from omnigraph.cli.program import run
from omnigraph.client import connect
from omnigraph.errors import GraphError, InvalidInput, SchemaFailure, StorageFault, Unsupported
from omnigraph.server.serve import ServeRequest, make_server, serving
from omnigraph.testing.provider import FakeProvider, Reply, fake_provider, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.client.remote import RemoteGraph

SCHEMA = """node Doc {
    slug: String @key
    body: String
    vec: Vector(3) @embed("body", model="small")
    title_vec: Vector(3) @embed("body", model="small")
}"""
BODIES = {"a": "quick fox", "b": "lazy dog", "c": "quick dog"}
LITERAL = """query near() {
    match { $d: Doc }
    return { $d.slug as slug }
    order { nearest($d.vec, "lazy dog") }
    limit 1
}"""
PARAMETER = LITERAL.replace("near()", "near($q: String)").replace('"lazy dog"', "$q")
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for one test
NEAREST = [{"slug": "b"}]


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeProvider]:
    with fake_provider() as served:
        monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", served.url)
        monkeypatch.setenv("OMNIGRAPH_EMBED_CACHE", "off")
        monkeypatch.setenv("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "0")
        yield served


@pytest.fixture
def place(tmp_path: Path) -> Path:
    vectors = vectors_of({"model": "small", "input": list(BODIES.values())})["data"]
    place = tmp_path / "docs.omni"
    with omnigraph.init(place, SCHEMA, durability="process", actor="ada") as graph:
        records = [
            {
                "type": "Doc",
                "data": {"slug": slug, "body": body, "vec": each["embedding"]}
                | {"title_vec": each["embedding"]},
            }
            for (slug, body), each in zip(BODIES.items(), vectors, strict=True)
        ]
        graph.load(records, mode="append")
    return place


@pytest.fixture
def remote(place: Path, tmp_path: Path) -> Iterator[RemoteGraph]:
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "near.gq").write_text(PARAMETER, encoding="utf-8")
    request = ServeRequest([str(place)], policy="preset:team", queries=str(queries))
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"admin": TOKEN})}
    with (
        serving(make_server(request, environment)) as url,
        connect(url, token=TOKEN, graph="docs") as made,
    ):
        yield made


def refusal(call: Any) -> GraphError:
    with pytest.raises(GraphError) as caught:
        call()
    return caught.value


def test_python_embeds_literals_and_parameters(place: Path, provider: FakeProvider) -> None:
    with omnigraph.open(place, read_only=True) as graph:
        assert graph.query(LITERAL).rows() == NEAREST
        assert graph.query(PARAMETER, {"q": "lazy dog"}).rows() == NEAREST
    assert [body["model"] for body in provider.requests] == ["small", "small"]


def test_a_query_embeds_a_text_once(place: Path, provider: FakeProvider) -> None:
    both = PARAMETER.replace(
        "nearest($d.vec, $q)", "rrf(nearest($d.vec, $q), nearest($d.title_vec, $q))"
    )
    with omnigraph.open(place, read_only=True) as graph:
        assert graph.query(both, {"q": "lazy dog"}).rows() == NEAREST
    assert provider.texts == ["lazy dog"]


def test_the_client_and_stored_queries_use_the_provider_of_the_server(
    remote: RemoteGraph, provider: FakeProvider
) -> None:
    assert remote.query(LITERAL).rows() == NEAREST
    assert remote.query(PARAMETER, {"q": "lazy dog"}).rows() == NEAREST
    stored: Any = remote.invoke_query("near", {"q": "lazy dog"})
    assert stored.rows() == NEAREST
    assert provider.texts == ["lazy dog"] * 3


def test_a_client_gets_the_fault_of_the_provider_without_its_address(
    remote: RemoteGraph, provider: FakeProvider
) -> None:
    provider.answer = lambda *_: Reply(429)
    error = refusal(lambda: remote.query(LITERAL))
    assert (type(error), error.code) == (StorageFault, "embed.rate_limited")
    assert provider.url not in str(error)
    assert len(provider.requests) == 1, "neither side repeats what the provider refused"


def test_the_command_line_embeds(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "near.gq"
    file.write_text(PARAMETER, encoding="utf-8")
    words = [
        "query",
        "--store",
        str(place),
        "--query",
        str(file),
        "--params",
        '{"q": "lazy dog"}',
        "--json",
    ]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == NEAREST


def test_the_shell_embeds(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LITERAL}\n"))
    assert run(["shell", str(place), "--json"]) == 0
    assert '"b"' in capsys.readouterr().out


def test_another_configured_model_is_refused_with_both_names(
    remote: RemoteGraph, place: Path, monkeypatch: pytest.MonkeyPatch, provider: FakeProvider
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "large")
    with omnigraph.open(place, read_only=True) as graph:
        for door in (graph, remote):
            error = refusal(lambda door=door: door.query(LITERAL))
            assert (type(error), error.code) == (InvalidInput, "embed.model")
            assert "'small'" in error.message
            assert "'large'" in error.message
    assert provider.requests == []


def test_the_remedy_without_a_provider_works(
    place: Path, monkeypatch: pytest.MonkeyPatch, provider: FakeProvider
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_BASE_URL")
    with omnigraph.open(place, read_only=True) as graph:
        error = refusal(lambda: graph.query(LITERAL))
    assert (type(error), error.code) == (Unsupported, "search.no_embedder")
    assert "OMNIGRAPH_EMBED_PROVIDER" in str(error.remedy)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "openai-compatible")
    with omnigraph.open(place, read_only=True) as graph:
        error = refusal(lambda: graph.query(LITERAL))
    assert (type(error), error.code) == (Unsupported, "embed.no_key")
    assert "OPENROUTER_API_KEY" in str(error.remedy)
    # A provider of one's own needs its address only.
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", provider.url)
    with omnigraph.open(place, read_only=True) as graph:
        assert graph.query(LITERAL).rows() == NEAREST


def test_another_model_is_refused_at_once_and_never_ranks_with_the_first(
    place: Path, remote: RemoteGraph
) -> None:
    wanted = SCHEMA.replace("small", "large")
    with omnigraph.open(place, actor="ada") as graph:
        for door in (graph, remote):
            error = refusal(lambda door=door: door.apply_schema(wanted))
            assert (type(error), error.code) == (SchemaFailure, "schema.refused")
            for part in ("vec", "'small'", "'large'", "3 rows"):
                assert part in error.message
        plan = graph.plan_schema(wanted)
        assert [step.code for step in plan.refusals] == ["OG-VE-103", "OG-VE-103"]
        # The remedy: a property of its own, and the old one goes.
        added = SCHEMA.replace("}", '    other: Vector(3)? @embed("body", model="large")\n}')
        assert graph.apply_schema(added).applied


def test_a_served_graph_is_filled_by_the_provider_of_the_client(remote: RemoteGraph) -> None:
    added = SCHEMA.replace("}", '    other: Vector(3)? @embed("body", model="small")\n}')
    remote.apply_schema(added)
    done = pipeline.embed(remote)
    assert done.embedded == {"Doc.other": 3}
    assert remote.query(LITERAL.replace("$d.vec", "$d.other")).rows() == NEAREST
