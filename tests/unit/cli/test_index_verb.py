"""``omnigraph index``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from omnigraph.cli.program import run as main
from omnigraph.graph.open import init_graph

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "node Doc { slug: String @key\n body: String? @index }\nedge Cites: Doc -> Doc"


@pytest.fixture
def store(tmp_path: Path) -> str:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.mutate('query add() { insert Doc { slug: "a", body: "quick fox" } }')
    return graph.uri


def test_indexes_are_built_and_listed(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "ensure", store, "--force", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["commit"]
    assert main(["index", "list", store, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["indexes"]
    covered = {
        (each["type"], each["property"], each["kind"]): each["covered_rows"] for each in listed
    }
    assert covered["Doc", "body", "words"] == 1
    assert covered["Cites", "src", "order"] == 0


def test_the_text_says_what_was_done_and_why(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "ensure", "--store", store]) == 0
    out = capsys.readouterr().out
    assert "1 rows are scanned as fast" in out
    assert "nothing to do" in out
    assert main(["index", "ensure", "--store", store, "--type", "Doc", "--force"]) == 0
    assert "commit 01" in capsys.readouterr().out
    assert main(["index", "list", "--store", store]) == 0
    assert "Inverted" in capsys.readouterr().out


def test_an_unknown_type_is_refused(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "ensure", store, "--type", "Dox"]) != 0
    assert "index.unknown_type" in capsys.readouterr().err
