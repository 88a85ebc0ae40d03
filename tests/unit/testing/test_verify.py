"""The walk over a graph finds what is broken: each test breaks one thing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.refs import TagRef
from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.runtime.ids import new_ulid
from omnigraph.testing.kit import add, new_engine, open_engine, table_of
from omnigraph.testing.verify import check_graph, require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch
from omnigraph.versioning.manifest import Manifest, Void
from omnigraph.versioning.tags import create_tag

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.ports.tables import Pin
    from omnigraph.session.engine import Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["a", "b"])
    add(engine, ["a>b"], to="Knows")
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    add(engine, ["c"], branch="dev")
    create_branch(engine.root, engine.heads, "gone", engine.resolver.resolve("main"))
    delete_branch(engine.root, engine.heads, "gone")
    return tmp_path / "graph"


def publish_by_force(engine: Engine, change: Callable[[Manifest], Manifest]) -> None:
    """Put a manifest on top of main past the one door."""
    head = engine.resolver.resolve("main")
    version = head.version + 1
    ref = replace(head.commit.ref, id=new_ulid(), version=version)
    parent = replace(head.commit.ref, incarnation=head.incarnation, version=head.version)
    commit = replace(head.commit, ref=ref, parent=parent, time_micros=head.commit.time_micros + 1)
    forged = change(replace(head, version=version, commit=commit))
    assert engine.root.store.add(forged)


def with_pin(manifest: Manifest, change: Callable[[Pin], Pin], number: int = 0) -> Manifest:
    pins = dict(manifest.pins)
    key = sorted(pins, key=lambda name: -pins[name].rows)[number]
    pins[key] = change(pins[key])
    return replace(manifest, pins=pins)


FORGERIES: dict[str, tuple[Callable[[Manifest], Manifest], str]] = {
    "a wrong fingerprint": (
        lambda forged: with_pin(forged, lambda pin: replace(pin, fingerprint="x")),
        "does not open",
    ),
    "a missing version": (
        lambda forged: with_pin(forged, lambda pin: replace(pin, version=99)),
        "does not open",
    ),
    "a wrong number of rows": (
        lambda forged: with_pin(forged, lambda pin: replace(pin, rows=77)),
        "rows instead of 77",
    ),
    "a missing pin": (
        lambda forged: replace(forged, pins=dict(list(forged.pins.items())[1:])),
        "types without pins",
    ),
    "a time that stands still": (
        lambda forged: replace(
            forged,
            commit=replace(forged.commit, time_micros=forged.commit.time_micros - 1),
        ),
        "is not later than its parent",
    ),
    "another parent": (
        lambda forged: replace(
            forged,
            commit=replace(forged.commit, parent=replace(forged.commit.ref, id=new_ulid())),
        ),
        "its parent is",
    ),
    "a commit twice": (
        lambda forged: replace(
            forged,
            commit=replace(
                forged.commit,
                ref=replace(forged.commit.ref, id=forged.commit.parent.id),  # type: ignore[union-attr]
            ),
        ),
        "published twice",
    ),
    "another home": (
        lambda forged: replace(
            forged, commit=replace(forged.commit, ref=replace(forged.commit.ref, version=1))
        ),
        "another home",
    ),
    "a void that is published": (
        lambda forged: replace(forged, voids=(Void(forged.commit.parent.id, 1),)),  # type: ignore[union-attr]
        "is void and published",
    ),
    "a schema that is nowhere": (
        lambda forged: replace(forged, commit=replace(forged.commit, schema="0" * 64)),
        "schema",
    ),
}


def test_a_whole_graph_has_nothing_to_complain_about(path: Path) -> None:
    assert check_graph(open_engine(path)) == []
    assert check_graph(open_engine(path, read_only=True)) == []
    require_whole(open_engine(path))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_manifest_is_found(name: str, path: Path) -> None:
    change, complaint = FORGERIES[name]
    publish_by_force(open_engine(path), change)
    problems = check_graph(open_engine(path, read_only=True))
    assert any(complaint in problem for problem in problems), problems
    with pytest.raises(AssertionError, match="the graph is broken"):
        require_whole(open_engine(path, read_only=True))


def test_ids_that_are_there_twice_are_found(path: Path) -> None:
    engine = open_engine(path)
    add(engine, ["a"])
    assert any("has duplicate ids: ['a']" in problem for problem in check_graph(engine))


def test_an_edge_that_ends_nowhere_is_found(path: Path) -> None:
    engine = open_engine(path)
    add(engine, ["a>nobody"], to="Knows")
    assert any("ends at no Person" in problem for problem in check_graph(engine))


def test_a_lost_data_file_is_found(path: Path) -> None:
    table = table_of(open_engine(path)).pin.path
    for file in (path / table / "data").iterdir():
        file.unlink()
    assert any("does not open" in problem for problem in check_graph(open_engine(path)))


def test_a_damaged_schema_is_found(path: Path) -> None:
    (schema,) = (path / "_schema").iterdir()
    schema.write_bytes(schema.read_bytes().replace(b"Person", b"Parson"))
    assert any("schema" in problem for problem in check_graph(open_engine(path)))


def test_a_gap_in_the_manifests_is_found(path: Path) -> None:
    head = open_engine(path).resolver.resolve("main")
    (path / layout.manifest(head.incarnation, head.version - 1)).unlink()
    assert check_graph(open_engine(path)) != []


def edit_ref(path: Path, name: str, at: int, **changes: object) -> None:
    file = path / layout.branch_ref(name, at)
    file.write_text(json.dumps(json.loads(file.read_bytes()) | changes))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda path: edit_ref(path, "dev", 1, number=7), "number 7"),
        (lambda path: edit_ref(path, "gone", 2, open=True), "repeats ref 1"),
        (lambda path: edit_ref(path, "gone", 2, incarnation="x"), "another incarnation"),
        (lambda path: edit_ref(path, "main", 1, open=False), "main is missing"),
        (lambda path: edit_ref(path, "dev", 1, fork_commit="x"), "not at its fork"),
        (lambda path: (path / layout.branch_ref("gone", 1)).unlink(), "numbered [2]"),
        (lambda path: shutil.rmtree(path / "_refs/branches/main"), "main is missing"),
    ],
)
def test_broken_refs_are_found(change: Callable[[Path], None], complaint: str, path: Path) -> None:
    engine = open_engine(path)
    change(path)
    problems = check_graph(engine)
    assert any(complaint in problem for problem in problems), problems


NESTED = b"[" * 100_000


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", NESTED, b'{"name": 7}'])
@pytest.mark.parametrize("key", [layout.tag_ref("v1"), layout.branch_ref("dev", 1)])
def test_an_unreadable_ref_is_found_and_the_rest_is_checked(
    key: str, body: bytes, path: Path
) -> None:
    engine = open_engine(path)
    create_tag(engine.root, "v1", engine.resolver.resolve("main"))
    add(engine, ["a"])
    (path / key).write_bytes(body)
    problems = check_graph(open_engine(path, read_only=True))
    assert any(key in problem for problem in problems), problems
    assert any("has duplicate ids" in problem for problem in problems), problems


def test_a_nested_schema_is_found(path: Path) -> None:
    engine = open_engine(path, read_only=True)
    (schema,) = (path / "_schema").iterdir()
    schema.write_bytes(NESTED)
    assert any("schema" in problem for problem in check_graph(engine))


def test_a_tag_of_another_commit_is_found(path: Path) -> None:
    engine = open_engine(path)
    head = engine.resolver.resolve("main")
    engine.root.refs.add_tag(TagRef("v1", new_ulid(), head.incarnation, head.version, 1))
    assert any("tag v1" in problem for problem in check_graph(engine))


@pytest.mark.parametrize(
    ("outcome", "complaint"),
    [
        (RecoveryOutcome.ROLLED_FORWARD, "was rolled forward but is not in history"),
        (RecoveryOutcome.ROLLED_BACK, "was rolled back but is in history"),
    ],
)
def test_an_audit_that_tells_another_story_is_found(
    outcome: RecoveryOutcome, complaint: str, path: Path
) -> None:
    engine = open_engine(path)
    known = engine.resolver.resolve("main").commit.id
    operation = known if outcome is RecoveryOutcome.ROLLED_BACK else new_ulid()
    engine.recovery.audit.record(AuditRow(operation, outcome, 1))
    assert any(complaint in problem for problem in check_graph(engine))


def test_an_unreadable_intent_is_found(path: Path) -> None:
    engine = open_engine(path)
    engine.root.objects.put(f"{layout.RECOVERY}/{new_ulid()}.json", b"{")
    assert any("is left behind" in problem for problem in check_graph(engine))


def test_the_stamp_of_another_graph_is_found(path: Path) -> None:
    engine = open_engine(path)
    stamp = path / layout.STAMP
    stamp.write_bytes(stamp.read_bytes().replace(engine.root.stamp.graph_id.encode(), b"0" * 26))
    assert any("belongs to graph" in problem for problem in check_graph(engine))
