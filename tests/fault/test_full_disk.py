"""A disk that is full at any byte: what was acknowledged can be read, and the next write works.

A limit of the size of files stands for the full disk: in both cases a write ends early, and Lance
reports that for some files only. Guards INV-5 and INV-6.
"""

from __future__ import annotations

import base64
import resource
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.errors import GraphError
from omnigraph.testing.kit import open_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEMA = """
node Item {
    key: String @key
    a: I64? @index
    text: String?
    scan: Blob?
}

edge Link: Item -> Item
"""
WIDER = SCHEMA.replace("a: I64? @index", "a: I64? @index\n    z: I64?")
# Every small file ends in between; so do most of the larger ones.
ROOMS = (
    *(0, 1, 100, 300, 500, 600, 690, 900, 1_000, 1_300, 1_600, 2_000, 2_300, 2_600, 3_000),
    *(4_000, 6_000, 9_000, 15_000, 40_000, 90_000, 200_000),
)


def items(count: int, name: str = "p") -> list[dict[str, Any]]:
    return [{"type": "Item", "data": {"key": f"{name}{n}", "a": n}} for n in range(count)]


def blob(size: int) -> list[dict[str, Any]]:
    text = base64.b64encode(bytes(range(256)) * (size // 256)).decode()
    return [{"type": "Item", "data": {"key": "scanned", "scan": f"base64:{text}"}}]


WRITES: dict[str, Callable[[Any], Any]] = {
    "insert": lambda graph: graph.mutate('query q() { insert Item { key: "n", a: 1 } }'),
    "update": lambda graph: graph.mutate('query q() { update Item set { a: 5 } where key = "p3" }'),
    "delete": lambda graph: graph.mutate('query q() { delete Item where key = "p3" }'),
    "load": lambda graph: graph.load(items(2_000, "n"), mode="append"),
    "blob": lambda graph: graph.load(blob(100_000), mode="append"),
    "overwrite": lambda graph: graph.load(items(3_000), mode="overwrite"),
    "index": lambda graph: graph.ensure_indices(force=True),
    "schema": lambda graph: graph.apply_schema(WIDER),
    "backfill": lambda graph: graph.apply_schema(WIDER, backfill={"Item.z": "a"}),
    "merge": lambda graph: graph.merge("dev"),
    "reset": lambda graph: graph.branches.reset("main", to="dev"),
    "branch": lambda graph: graph.branches.create("new"),
    "delete branch": lambda graph: graph.branches.delete("dev"),
    "tag": lambda graph: graph.tags.create("v1"),
}
CASES = [(name, room) for room in ROOMS for name in WRITES]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "graph"
    graph = omnigraph.init(path, SCHEMA, durability="process")
    links = [{"edge": "Link", "from": f"p{n}", "to": f"p{n + 1}"} for n in range(100)]
    graph.load([*items(300), *links], mode="append")
    graph.branches.create("dev")
    graph.mutate('query q() { update Item set { a: 99 } where key = "p7" }', branch="dev")
    graph.mutate('query q() { insert Item { key: "main" } }')
    return path


def contents(path: Path) -> dict[str, Any]:
    """Everything that can be read, through indexes too."""
    graph = omnigraph.open(path, read_only=True)
    found: dict[str, Any] = {"tags": [tag.name for tag in graph.tags.list()]}
    for info in graph.branches.list():
        at = graph.at(info.ref.name)
        above = at.query("query q() { match { $p: Item\n $p.a > 290 } return { $p.key } }")
        by_key = at.query('query q() { match { $p: Item { key: "p3" } } return { $p.a } }')
        rows = (at.nodes("Item").to_pylist(), at.edges("Link").to_pylist())
        found[info.ref.name] = (*rows, list(above.rows()), list(by_key.rows()))
    return found


def test_a_full_disk_damages_nothing(
    before: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    cases = CASES if pytestconfig.getoption("--whole") else CASES[::19]
    untouched = contents(before)
    acknowledged = 0
    for name, room in cases:
        path = tmp_path / f"{name}-{room}"
        shutil.copytree(before, path)
        graph = omnigraph.open(path)
        try:
            with room_for(room):
                WRITES[name](graph)
            acknowledged += 1
        except GraphError:
            require_untouched = True
        else:
            require_untouched = False
        require_whole(open_engine(path))
        assert contents(path) == untouched or not require_untouched, (name, room)
        omnigraph.open(path).mutate('query q() { insert Item { key: "later" } }')
        shutil.rmtree(path)
    print(f"{acknowledged} of {len(cases)} writes acknowledged")
    assert 0 < acknowledged < len(cases)
