"""``omnigraph embed``: records from file to file, through a provider on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.cli.embedding import EmbedProgress
from omnigraph.testing.provider import FakeProvider, Reply, fake_provider, vectors_of

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
SPEC = {"dimension": 3, "types": {"Note": {"target": "vec", "fields": ["body"]}}}
SCHEMA = """node Note {
    slug: String @key
    body: String?
    vec: Vector(3)? @embed("body", model="small")
}"""


def note(slug: str, body: str | None, vec: list[float] | None = None) -> dict[str, Any]:
    return {"type": "Note", "data": {"slug": slug, "body": body, "vec": vec}}


RECORDS = [
    note("a", "quick fox"),
    note("b", "lazy dog", [1.0, 0.0, 0.0]),
    note("c", None),
    {"type": "Other", "data": {"slug": "x"}},
    {"edge": "Cites", "from": "a", "to": "b"},
]


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch, operator_home: Path) -> Iterator[FakeProvider]:
    with fake_provider() as served:
        monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", served.url)
        monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "small")
        monkeypatch.setenv("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "0")
        yield served


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "raw.jsonl", RECORDS)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def vectors(path: Path) -> dict[str, Any]:
    return {
        each["data"]["slug"]: each["data"].get("vec")
        for each in read(path)
        if each.get("type") == "Note"
    }


def vector(text: str) -> list[float]:
    found: list[float] = vectors_of({"input": [text], "model": "small"})["data"][0]["embedding"]
    return found


FILES = ("--input", "raw.jsonl", "--output", "out.jsonl", "--spec", "spec.json", "--json")


def test_missing_vectors_are_filled_and_the_rest_is_kept(
    cli: Cli, place: Path, provider: FakeProvider
) -> None:
    done = cli("embed", *FILES)
    assert json.loads(done.out) == {
        "input": "raw.jsonl",
        "output": "out.jsonl",
        "records": 5,
        "selected_records": 4,
        "embedded_records": 1,
        "cleaned_records": 0,
        "mode": "fill_missing",
        "dimension": 3,
        "model": "small",
    }
    assert vectors(place / "out.jsonl") == {"a": vector("quick fox"), "b": [1, 0, 0], "c": None}
    assert read(place / "out.jsonl")[3:] == RECORDS[3:]
    assert provider.texts == ["quick fox"]


def test_the_output_loads_and_is_found_by_a_text(cli: Cli, place: Path) -> None:
    cli("embed", *FILES)
    notes = [each for each in read(place / "out.jsonl") if each.get("type") == "Note"]
    with omnigraph.init(place / "n.omni", SCHEMA, durability="process", actor="ada") as graph:
        graph.load(notes, mode="append")
        found = graph.query(
            "query q() { match { $n: Note } return { $n.slug } "
            'order { nearest($n.vec, "quick fox") } limit 1 }'
        )
        assert found.rows() == [{"n.slug": "a"}]


@pytest.mark.parametrize(
    ("flags", "embedded", "mode"),
    [
        (("--reembed-all",), {"a", "b"}, "reembed_all"),
        (("--select", "Note:slug=b"), {"b"}, "reembed_selected"),
        (("--select", "slug=b", "--select", "slug=a"), {"a", "b"}, "reembed_selected"),
        (("--select", "Other:slug=b"), set(), "reembed_selected"),
        (("--type", "Other"), set(), "fill_missing"),
    ],
)
def test_flags_select_records(
    cli: Cli, place: Path, flags: tuple[str, ...], embedded: set[str], mode: str
) -> None:
    done = json.loads(cli("embed", *FILES, *flags).out)
    assert (done["embedded_records"], done["mode"]) == (len(embedded), mode)
    found, bodies = vectors(place / "out.jsonl"), {"a": "quick fox", "b": "lazy dog"}
    assert {slug for slug in bodies if found[slug] == vector(bodies[slug])} == embedded


def test_clean_removes_vectors_without_a_provider(
    cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_BASE_URL")
    monkeypatch.delenv("OMNIGRAPH_EMBED_MODEL")
    done = json.loads(cli("embed", *FILES, "--clean", "--select", "slug=b").out)
    assert (done["cleaned_records"], done["model"]) == (1, "")
    assert [("vec" in each["data"]) for each in read(place / "out.jsonl")[:3]] == [
        True,
        False,
        True,
    ]


def test_an_interrupted_run_continues_where_it_stopped(
    cli: Cli, place: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place / "raw.jsonl", [note(f"n{number}", f"text {number}") for number in range(600)])
    good = provider.answer
    provider.answer = lambda body, number: Reply(500) if number >= 5 else good(body, number)
    failed = cli("embed", *FILES)
    assert failed.code == 1
    assert "embed.unavailable" in failed.out
    assert not (place / "out.jsonl").exists()
    provider.answer = good
    assert cli("embed", *FILES).code == 0
    assert len(vectors(place / "out.jsonl")) == 600
    # The first chunk of 256 records came from the cache.
    assert sum(int(text.split()[1]) < 256 for text in provider.texts) == 256


def test_a_manifest_names_the_files(cli: Cli, place: Path) -> None:
    (place / "seed").mkdir()
    (place / "raw.jsonl").rename(place / "seed" / "raw.jsonl")
    (place / "seed" / "seed.yaml").write_text(
        "sources: {raw_seed: raw.jsonl}\nartifacts: {embedded_seed: build/all.jsonl}\n"
        f"embeddings: {json.dumps(SPEC)}\n"
    )
    assert cli("embed", "--seed", "seed/seed.yaml").code == 0
    assert vectors(place / "seed" / "build" / "all.jsonl")["a"] == vector("quick fox")


def test_several_fields_are_joined_with_their_names(
    cli: Cli, place: Path, provider: FakeProvider
) -> None:
    spec = {"dimension": 3, "types": {"Note": {"target": "vec", "fields": ["slug", "body"]}}}
    (place / "spec.json").write_text(json.dumps(spec))
    cli("embed", *FILES)
    assert provider.texts == ["slug: a\nbody: quick fox", "slug: c"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "embed.bad_record"),
        ("[1]", "embed.bad_record"),
        ('{"type": "Note"}', "embed.bad_record"),
        ('{"type": "Note", "data": [1]}', "embed.bad_record"),
    ],
)
def test_a_bad_record_is_named_by_its_line(cli: Cli, place: Path, line: str, code: str) -> None:
    with (place / "raw.jsonl").open("a") as file:
        file.write(f"{line}\n")
    failed = cli("embed", *FILES)
    assert code in failed.out
    assert "line 6" in failed.out
    assert not (place / "out.jsonl").exists()


@pytest.mark.parametrize(
    "spec",
    [
        "{",
        "[]",
        "{}",
        '{"dimension": 0, "types": {"Note": {"target": "vec", "fields": ["body"]}}}',
        '{"dimension": true, "types": {"Note": {"target": "vec", "fields": ["body"]}}}',
        '{"dimension": 3, "types": {}}',
        '{"dimension": 3, "types": {"Note": {"target": "vec", "fields": []}}}',
        '{"dimension": 3, "types": {"Note": {"target": "vec", "fields": ["vec"]}}}',
        '{"dimension": 3, "types": {"Note": []}}',
    ],
)
def test_a_bad_spec_is_refused(cli: Cli, place: Path, spec: str) -> None:
    (place / "spec.json").write_text(spec)
    assert "embed.bad_spec" in cli("embed", *FILES).out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "usage.no_address"),
        (("--clean",), "usage.files_only"),
        (("x.omni", *FILES), "usage.graph_and_files"),
        (("x.omni",), "graph.missing"),
        (("--input", "raw.jsonl"), "usage.no_input"),
        (("--seed", "x", "--input", "raw.jsonl"), "usage.two_inputs"),
        ((*FILES, "--clean", "--reembed-all"), "usage.two_modes"),
        ((*FILES, "--select", "slug"), "usage.bad_selector"),
        ((*FILES, "--select", ":slug=a"), "usage.bad_selector"),
        (("--input", "no.jsonl", *FILES[2:]), "embed.file"),
        (("--seed", "no.yaml"), "file.unreadable"),
    ],
)
def test_bad_flags_are_refused(cli: Cli, place: Path, words: tuple[str, ...], code: str) -> None:
    failed = cli("embed", *words)
    assert failed.code != 0
    assert code in failed.out + failed.err


def test_without_a_provider_the_remedy_names_one(
    cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_BASE_URL")
    monkeypatch.delenv("OMNIGRAPH_EMBED_MODEL")
    failed = json.loads(cli("embed", *FILES).out)
    assert failed["code"] == "embed.no_provider"
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    assert cli("embed", *FILES).code == 0


def test_missing_vectors_of_a_graph_are_filled(
    cli: Cli, place: Path, provider: FakeProvider
) -> None:
    records = [each for each in RECORDS if each.get("type") == "Note"]
    with omnigraph.init(place / "n.omni", SCHEMA, durability="process", actor="ada") as graph:
        graph.load(records, mode="append")
    done = json.loads(cli("embed", "n.omni", "--as", "bo", "--json").out)
    assert done["embedded"] == {"Note.vec": 1}
    assert len(done["commits"]) == 1
    assert provider.texts == ["quick fox"]
    with omnigraph.open(place / "n.omni", read_only=True) as graph:
        found = {row["slug"]: row["vec"] for row in graph.nodes("Note").to_pylist()}
        assert found["a"] == pytest.approx(vector("quick fox"), abs=1e-6)
    assert '"bo"' in cli("log", "n.omni", "--json").out
    assert json.loads(cli("embed", "n.omni", "--json").out)["embedded"] == {}


def test_progress_shows_rate_and_estimate() -> None:
    assert EmbedProgress(25, 100, 500, 5.0).line() == " 25% 500 embedded, 100/s, 15 s left"
    assert EmbedProgress(0, 0, 0, 0.0, done=True).line() == "100% 0 embedded, 0/s"
