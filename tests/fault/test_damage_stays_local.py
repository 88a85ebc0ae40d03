"""Damage to one file reaches only what depends on it. Guards INV-5 and INV-13.

A small graph has two branches and a tag. Each case damages one file that belongs to the branch
``dev``, to the tag, to an unfinished write or to something derived. ``main`` must be readable and
writable afterwards, the listings must work, and whatever fails must fail with a storage fault.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.errors import GraphError, StorageFault
from omnigraph.runtime.ids import new_ulid
from omnigraph.session.status import describe_status
from omnigraph.testing.kit import add, history, ids_of, new_engine, open_engine, remove, table_of
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, list_branches
from omnigraph.versioning.tags import create_tag

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.session.engine import Engine


@dataclass(frozen=True)
class Graph:
    """The graph of all cases, and the files that belong to ``dev`` alone."""

    path: Path
    engine: Engine
    of_dev: list[str]
    newest_of_dev: list[str]

    def one(self, mark: str, among: list[str] | None = None) -> list[str]:
        return [name for name in (self.newest_of_dev if among is None else among) if mark in name]

    def manifest(self, back: int = 0) -> list[str]:
        head = self.engine.resolver.resolve("dev")
        return [layout.manifest(head.incarnation, head.version - back)]

    def table(self, back: int = 0) -> list[str]:
        commit = history(self.engine, "dev")[back].id
        pin = table_of(self.engine, commit).pin
        return [f"{pin.path}/_versions/{manifest_name(pin.version)}"]


def files_of(path: Path) -> set[str]:
    return {str(entry.relative_to(path)) for entry in path.rglob("*") if entry.is_file()}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = tmp_path_factory.mktemp("damage") / "graph"
    engine = new_engine(path)
    add(engine, ["old"])
    create_tag(engine.root, "v1", engine.resolver.resolve("main"))
    add(engine, ["later"])
    before = files_of(path)
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    add(engine, ["one", "two"], branch="dev")
    add(engine, ["three"], branch="dev", to="Place")
    middle = files_of(path)
    remove(engine, ["one"], branch="dev")
    engine.lineage.refresh()
    after = files_of(path)
    return Graph(path, engine, sorted(after - before), sorted(after - middle))


NESTED = b"[" * 100_000
BYTES: dict[str, Callable[[bytes], bytes | None]] = {
    "cut": lambda body: body[: len(body) // 2],
    "empty": lambda _: b"",
    "zeros": lambda body: bytes(len(body)),
    "garbled": lambda body: bytes(random.Random(1).randrange(256) for _ in body),
    "missing": lambda _: None,
}
TEXTS: dict[str, Callable[[bytes], bytes | None]] = {
    **BYTES,
    "nested": lambda _: NESTED,
    "number": lambda _: b"7",
    "list": lambda _: b"[]",
    "object": lambda _: b"{}",
    "null": lambda _: b"null",
    "infinite": lambda body: body.replace(b'_micros": ', b'_micros": 1e999, "x": '),
}

# A kind of file: how it is named in the graph, and in which ways it is damaged.
KINDS: dict[str, tuple[Callable[[Graph], list[str]], dict[str, Callable[[bytes], bytes | None]]]]
KINDS = {
    "branch ref": (lambda graph: graph.one("_refs/branches", graph.of_dev), TEXTS),
    "newest manifest": (lambda graph: graph.manifest(), BYTES),
    "older manifest": (lambda graph: graph.manifest(1), BYTES),
    "first manifest": (lambda graph: graph.manifest(3), BYTES),
    "manifest hint": (
        lambda graph: graph.one("/hint", graph.of_dev),
        BYTES,
    ),
    "table version": (lambda graph: graph.table(), BYTES),
    "older table version": (lambda graph: graph.table(2), BYTES),
    "table data": (
        lambda graph: [name for name in graph.one("/data/", graph.of_dev) if "nodes/" in name],
        BYTES,
    ),
    "deletions": (lambda graph: graph.one("_deletions"), BYTES),
    "table transaction": (
        lambda graph: [name for name in graph.one("_transactions") if "nodes/" in name],
        BYTES,
    ),
    "tag": (lambda _: ["_refs/tags/v1.json"], TEXTS),
    "lineage": (
        lambda graph: sorted(name for name in files_of(graph.path) if "commits.lance" in name),
        BYTES,
    ),
}
CASES = [(kind, how) for kind, (_, ways) in KINDS.items() for how in ways]


def damaged_copy(graph: Graph, tmp_path: Path, kind: str, how: str) -> Path:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    find, ways = KINDS[kind]
    names = find(graph)
    assert names or kind == "lineage", f"no file of kind {kind!r}"
    for name in names:
        body = ways[how]((path / name).read_bytes())
        if body is None:
            (path / name).unlink()
        else:
            (path / name).write_bytes(body)
    return path


def require_main_works(engine: Engine) -> None:
    assert ids_of(engine) == ["later", "old"]
    assert "main" in [info.ref.name for info in list_branches(engine.root, engine.heads)]
    assert describe_status(engine).branches >= 1
    known = len(history(engine))
    add(engine, ["new"])
    assert ids_of(engine) == ["later", "new", "old"]
    assert len(history(engine)) == known + 1
    create_branch(engine.root, engine.heads, "fresh", engine.resolver.resolve("main"))
    add(engine, ["fresh"], branch="fresh")


@pytest.mark.parametrize(("kind", "how"), CASES, ids=[f"{kind}-{how}" for kind, how in CASES])
def test_main_works_beside_a_damaged_file(
    kind: str, how: str, graph: Graph, tmp_path: Path
) -> None:
    path = damaged_copy(graph, tmp_path, kind, how)
    reader = open_engine(path, read_only=True)
    assert ids_of(reader) == ["later", "old"]
    assert describe_status(reader).branches >= 1
    engine = open_engine(path)
    require_main_works(engine)
    if kind != "tag":
        assert ids_of(engine, "v1") == ["old"]
    for act in (
        lambda: ids_of(engine, "dev"),
        lambda: ids_of(engine, "v1"),
        lambda: add(engine, ["more"], branch="dev"),
        lambda: add(engine, ["more"], branch="dev", to="Place"),
        lambda: history(engine, "dev"),
    ):
        try:
            act()
        except GraphError as error:
            missing = how == "missing" and error.code in MISSING
            assert isinstance(error, StorageFault) or missing, repr(error)
    require_main_works_still(engine)


# Without its ref, a branch or a tag does not exist.
MISSING = {"branch.missing", "target.missing"}


@pytest.mark.parametrize("target", ["dev", "commit"])
def test_a_missing_table_version_that_a_commit_pins_is_damage(
    graph: Graph, tmp_path: Path, target: str
) -> None:
    path = damaged_copy(graph, tmp_path, "table version", "missing")
    engine = open_engine(path)
    head = engine.resolver.resolve("dev").commit
    for act in (
        lambda: ids_of(engine, head.id if target == "commit" else target),
        lambda: remove(engine, ["two"], branch="dev"),
    ):
        with pytest.raises(StorageFault) as caught:
            act()
        assert caught.value.code == "table.damaged"
        assert caught.value.details["file"] == graph.table()[0]
        assert graph.table()[0] in caught.value.message
        assert "copy" in (caught.value.remedy or "")


@pytest.mark.parametrize("missing", [1, 2])
def test_missing_table_versions_come_back_beside_later_writes(missing: int, tmp_path: Path) -> None:
    """Writes of other branches to the table leave their numbers to them."""
    path = tmp_path / "graph"
    engine = new_engine(path)
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    files = []
    for number in range(missing):
        add(engine, [f"dev{number}"], branch="dev")
        pin = table_of(engine, "dev").pin
        files.append(path / pin.path / "_versions" / manifest_name(pin.version))
    bodies = [file.read_bytes() for file in files]
    on_dev = ids_of(engine, "dev")
    for file in files:
        file.unlink()
    engine = open_engine(path)
    commits = [add(engine, [name]) for name in ("first", "second")]
    for file, body in zip(files, bodies, strict=True):
        file.write_bytes(body)
    engine = open_engine(path)
    assert ids_of(engine, "dev") == on_dev
    assert ids_of(engine, commits[0]) == ["first", "old"]
    assert ids_of(engine, commits[1]) == ["first", "old", "second"]
    add(engine, ["more"], branch="dev")
    require_whole(open_engine(path))


def test_status_reports_a_damaged_main(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    head = graph.engine.resolver.resolve("main")
    (path / layout.manifest(head.incarnation, head.version)).write_bytes(b"")
    for engine in (open_engine(path, read_only=True), open_engine(path)):
        found = describe_status(engine)
        assert [(ref.name, ref.fault.code) for ref in found.damaged] == [("main", "branch.damaged")]
        assert (found.head, found.schema, found.nodes, found.node_types) == (None,) * 4
        assert (found.branches, found.tags) == (1, 1)
        assert found.to_json()["head"] is None
        assert ids_of(engine, "dev") == ["later", "old", "two"]


def test_status_reports_a_main_whose_schema_is_damaged(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    for file in (path / "_schema").iterdir():
        file.write_bytes(b"{")
    found = describe_status(open_engine(path))
    assert [(ref.name, ref.fault.code) for ref in found.damaged] == [("main", "schema.malformed")]


@pytest.mark.parametrize("body", [NESTED.decode(), "{", "[]", "{}", "null", '{"outcome": "x"}'])
def test_an_unreadable_audit_row_is_a_storage_fault_and_stops_nobody(
    body: str, graph: Graph, tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    engine = open_engine(path)
    engine.root.objects.put(layout.audit_row("x"), body.encode())
    with pytest.raises(StorageFault) as caught:
        engine.recovery.audit.rows()
    assert caught.value.code == "audit.malformed"
    assert caught.value.remedy
    require_main_works(engine)


def require_main_works_still(engine: Engine) -> None:
    add(engine, ["newest"])
    assert ids_of(engine) == ["later", "new", "newest", "old"]


INTENT_PARTS = ("json", "staging.json", "confirmed.json", "alive.json")


@pytest.mark.parametrize("part", INTENT_PARTS)
@pytest.mark.parametrize("how", [how for how in TEXTS if how not in {"missing", "infinite"}])
def test_an_unreadable_object_of_an_intent_stops_nobody(
    how: str, part: str, graph: Graph, tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    body = TEXTS[how](b'{"format": 2, "owner": {"host": "h", "pid": 1}}') or b""
    intents = path / layout.RECOVERY
    intents.mkdir(exist_ok=True)
    (intents / f"{new_ulid()}.{part}").write_bytes(body)
    engine = open_engine(path)
    require_main_works(engine)
    assert len(engine.recovery.pending()) <= 1


@pytest.mark.parametrize("key", [layout.write_lease("main"), f"{layout.HEAL_CLAIMS}/x.json"])
@pytest.mark.parametrize("how", [how for how in TEXTS if how not in {"missing", "infinite"}])
def test_an_unreadable_lock_stops_nobody(how: str, key: str, graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    (path / key).parent.mkdir(parents=True, exist_ok=True)
    (path / key).write_bytes(TEXTS[how](b'{"host": "h", "pid": 1}') or b"")
    require_main_works(open_engine(path))


@pytest.mark.parametrize("how", [how for how in TEXTS if how != "missing"])
@pytest.mark.parametrize("key", [layout.STAMP, "_schema"])
def test_a_damaged_object_that_every_branch_needs_is_a_storage_fault(
    how: str, key: str, graph: Graph, tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    shutil.copytree(graph.path, path)
    for file in [path / key] if (path / key).is_file() else (path / key).iterdir():
        body = TEXTS[how](file.read_bytes())
        if body == file.read_bytes():
            pytest.skip("the damage does not apply to this object")
        file.write_bytes(body or b"")
    with pytest.raises(StorageFault):
        ids_of(open_engine(path))
