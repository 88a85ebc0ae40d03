"""Older formats are raised before anything is read, newer ones refused; readers write nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.commits import WriterKind
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import StorageFault, Unsupported
from omnigraph.graph.open import open_graph
from omnigraph.recovery.intents import Intent, PlannedTable
from omnigraph.runtime.ids import new_ulid
from omnigraph.testing.aging import age
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.publish import ManifestDraft, Publication
from omnigraph.versioning.stamp import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two branches with different contents."""
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev/one", engine.resolver.resolve("main"))
    add(engine, ["side"], branch="dev/one")
    return tmp_path / "graph"


def listing(path: Path) -> dict[str, tuple[int, int]]:
    return {
        str(entry.relative_to(path)): (entry.stat().st_mtime_ns, entry.stat().st_size)
        for entry in sorted(path.rglob("*"))
    }


def version_of(path: Path) -> int:
    return int(json.loads((path / layout.STAMP).read_bytes())["internal_schema_version"])


def read_everything(engine: Engine) -> None:
    assert ids_of(engine) == ["old"]
    assert ids_of(engine, "dev/one") == ["old", "side"]
    assert open_branches(engine.root, engine.heads) == ["dev/one", "main"]
    engine.lineage.refresh()
    for branch in ("main", "dev/one"):
        list(engine.lineage.history(engine.resolver.resolve(branch)))
    engine.recovery.pending()
    engine.recovery.audit.rows()


@pytest.mark.parametrize("old_format", [1, 2, None])
def test_a_read_only_open_reads_everything_and_writes_nothing(
    old_format: int | None, path: Path
) -> None:
    leave_an_intent(path)
    if old_format is not None:
        age(path, old_format)
    before = listing(path)
    read_everything(open_engine(path, read_only=True))
    with open_graph(path, read_only=True) as graph:
        assert graph.status().pending
        graph.branches.list()
        graph.commits.list()
        with pytest.raises(Unsupported) as told:
            graph.branches.create("x")
        assert told.value.code == "graph.read_only"
        with pytest.raises(Unsupported):
            graph.refresh()
    assert listing(path) == before


def leave_an_intent(path: Path) -> None:
    """Of a dead owner: what a read-write open would resolve."""
    engine = open_engine(path)
    head = engine.resolver.resolve("main")
    dead = Owner(current_owner().host, 2**22 + 1, "0", "nobody")
    publication = Publication(
        ManifestDraft(new_ulid(), "main", WriterKind.MUTATION),
        head.incarnation,
        head.commit.ref,
        head.commit.schema,
    )
    tables = tuple(PlannedTable(key, pin) for key, pin in head.pins.items())
    engine.recovery.intents.arm(Intent(publication, tables, dead, 0))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_format_is_refused_with_advice(read_only: bool, path: Path) -> None:
    stamp = json.loads((path / layout.STAMP).read_bytes())
    stamp["internal_schema_version"] = FORMAT + 1
    (path / layout.STAMP).write_text(json.dumps(stamp))
    before = listing(path)
    for opens in (open_engine, open_graph):
        with pytest.raises(Unsupported) as told:
            opens(path, read_only=read_only)
        assert told.value.code == "graph.newer_format"
        assert "upgrade first" in (told.value.remedy or "")
    assert listing(path) == before


@pytest.mark.parametrize("old_format", [1, 2])
def test_a_read_write_open_raises_the_format_and_keeps_everything(
    old_format: int, path: Path
) -> None:
    age(path, old_format)
    engine = open_engine(path)
    assert version_of(path) == FORMAT
    read_everything(engine)
    require_whole(engine)
    delete_branch(engine.root, engine.heads, "dev/one")
    create_branch(engine.root, engine.heads, "dev/one", engine.resolver.resolve("main"))
    require_whole(open_engine(path))


def test_migration_keeps_what_it_does_not_know_in_the_stamp(path: Path) -> None:
    age(path, 1)
    stamp = json.loads((path / layout.STAMP).read_bytes())
    stamp["settings"]["colour"] = "blue"
    (path / layout.STAMP).write_text(json.dumps(stamp))
    open_engine(path)
    migrated = json.loads((path / layout.STAMP).read_bytes())
    assert migrated == stamp | {"internal_schema_version": FORMAT}


def test_a_migration_without_the_manifests_of_main_is_refused(path: Path) -> None:
    """They may come back; a graph of this format would not look for them any more."""
    age(path, 1)
    shutil.move(path / layout.MANIFESTS, path.parent / "elsewhere")
    with pytest.raises(StorageFault) as refused:
        open_engine(path)
    assert refused.value.code == "graph.main_missing"
    assert version_of(path) == 1
    shutil.move(path.parent / "elsewhere", path / layout.MANIFESTS)
    require_whole(open_engine(path))


# Every request that a migration of two branches of format 1 makes; `remove_leftovers` deletes files
# of Lance, of which a few will do.
REQUESTS = {"list": 4, "get": 4, "exists": 4, "put_if_absent": 6, "delete": 6, "put": 1}


@pytest.mark.parametrize(
    ("verb", "nth"), [(verb, nth) for verb, most in REQUESTS.items() for nth in range(1, most + 1)]
)
def test_an_opener_that_is_overtaken_anywhere_in_its_migration_does_no_harm(
    verb: str, nth: int, path: Path
) -> None:
    """The other one migrates, deletes one branch and creates another; then the first goes on."""
    age(path, 1)

    def overtake() -> None:
        other = open_engine(path)
        delete_branch(other.root, other.heads, "dev/one")
        create_branch(other.root, other.heads, "new", other.resolver.resolve("main"))
        add(other, ["newer"])

    interruption = Interruption(verb, overtake, nth=nth)
    engine = open_engine(path, wrap_objects=lambda objects: Between(objects, [interruption]))
    assert interruption.done
    assert open_branches(engine.root, engine.heads) == ["main", "new"]
    assert ids_of(engine) == ["newer", "old"]
    assert version_of(path) == FORMAT
    require_whole(open_engine(path))


@pytest.mark.parametrize("old_format", [1, 2])
def test_a_reader_of_an_old_graph_survives_its_migration(old_format: int, path: Path) -> None:
    age(path, old_format)
    reader = open_engine(path, read_only=True)
    read_everything(reader)
    add(open_engine(path), ["newer"])
    fresh = open_engine(path, read_only=True)
    assert ids_of(reader) == ids_of(fresh) == ["newer", "old"]
    assert open_branches(reader.root, reader.heads) == ["dev/one", "main"]


@pytest.mark.parametrize("old_format", [1, 2])
def test_many_openers_at_once_migrate_once_for_all(
    old_format: int, path: Path, tmp_path: Path
) -> None:
    age(path, old_format)
    with ProcessGroup() as crew:
        for number in range(4):
            copy = tmp_path / f"copy-{number}"
            shutil.copytree(path, copy)
            steps = (step("wait"), step("open"), step("ids"), step("ids", target="dev/one"))
            children = [crew.start(Script(str(copy), steps)) for _ in range(3)]
            for child in children:
                child.go()
            for child in children:
                outcomes = child.join()
                assert [outcome.value for outcome in outcomes[-2:]] == [["old"], ["old", "side"]]
            require_whole(open_engine(copy))
