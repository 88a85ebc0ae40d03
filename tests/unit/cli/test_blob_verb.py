"""``omnigraph blob``: bytes out, in whole and in part, and what is known of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph

if TYPE_CHECKING:
    from pathlib import Path

Cli = Callable[..., Any]
SCAN = bytes(range(256)) * 3


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("blobs") / "library.omni"
    schema = "node Paper {\n    slug: String @key\n    scan: Blob?\n}\n"
    with omnigraph.init(place, schema, durability="process") as graph:
        papers = [{"slug": "p1", "scan": SCAN}, {"slug": "p2", "scan": None}]
        graph.load(papers, mode="append", type="Paper")
    return str(place)


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ((), SCAN),
        (("--offset", "10", "--length", "5"), SCAN[10:15]),
        (("--offset", "760", "--length", "5000"), SCAN[760:]),
    ],
)
def test_a_blob_is_written_whole_or_in_part(
    cli: Cli, library: str, tmp_path: Path, flags: tuple[str, ...], wanted: bytes
) -> None:
    out = tmp_path / "scan"
    asked = ("blob", "get", "node", "Paper", "p1", "scan", *flags, "--store", library)
    done = cli(*asked, "--out", str(out))
    assert done.code == 0, done.err
    assert out.read_bytes() == wanted


def test_stat_tells_size_tag_and_commit(cli: Cli, library: str) -> None:
    done = cli("blob", "stat", "node", "Paper", "p1", "scan", "--store", library, "--json")
    body = json.loads(done.out)
    head = omnigraph.open(library, read_only=True).branches.list()[0].head
    assert body["selector"] == {"entity": "node", "type": "Paper", "id": "p1", "property": "scan"}
    assert (body["kind"], body["size"]) == ("managed", len(SCAN))
    assert body["target"] == {"branch": "main", "resolved_snapshot": head.commit.id}
    assert body["etag"]


@pytest.mark.parametrize(
    ("asked", "code", "exit_code"),
    [
        (("node", "Paper", "p1", "scan", "--length", "0"), "usage", 2),
        (("node", "Paper", "p1", "scan", "--offset", "-1"), "usage", 2),
        (("thing", "Paper", "p1", "scan"), "usage", 2),
        (("node", "Paper", "p1", "scan", "--offset", "768"), "blob.offset_outside", 1),
        (("edge", "Paper", "p1", "scan"), "type.missing", 1),
        (("node", "Paper", "p9", "scan"), "entity.missing", 1),
        (("node", "Paper", "p2", "scan"), "blob.missing", 1),
        (("node", "Paper", "p1", "slug"), "blob.not_a_blob", 1),
    ],
)
def test_what_cannot_be_read_leaves_the_file_alone(
    cli: Cli, library: str, tmp_path: Path, asked: tuple[str, ...], code: str, exit_code: int
) -> None:
    out = tmp_path / "scan"
    out.write_bytes(b"old")
    done = cli("blob", "get", *asked, "--store", library, "--out", str(out))
    assert (done.code, f"[{code}" in done.err) == (exit_code, True), done.err
    assert out.read_bytes() == b"old"


def test_bytes_and_json_do_not_share_stdout(cli: Cli, library: str) -> None:
    done = cli("blob", "get", "node", "Paper", "p1", "scan", "--store", library, "--json")
    assert json.loads(done.out)["code"] == "usage.blob_twice"
