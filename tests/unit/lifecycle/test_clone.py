"""A copy of a graph: whole, in part, up to date again; under writers, and when things go wrong.

Guards INV-16.
"""

from __future__ import annotations

import json
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.api.names import MAIN
from omnigraph.errors import AlreadyExists, Conflict, GraphError, NotFound, StorageFault
from omnigraph.lifecycle.clone.clone import CloneResult, CloneTarget, copy_graph
from omnigraph.testing.aging import age
from omnigraph.testing.kit import add, history, ids_of, new_engine, open_engine, remove
from omnigraph.testing.kit_between import Between, Interruption, lose_reply
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import branches, layout, tags
from omnigraph.versioning.branches import open_branches

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine
    from omnigraph.testing.s3 import S3Endpoint


@pytest.fixture
def source(tmp_path: Path) -> Engine:
    """Two open branches, one that was deleted and one that was made again; two tags."""
    engine = new_engine(tmp_path / "source.omni")
    add(engine, ["a", "b"])
    fork(engine, "dev")
    add(engine, ["dev"], branch="dev")
    tag(engine, "v1", "dev")
    fork(engine, "gone")
    add(engine, ["gone"], branch="gone")
    tag(engine, "of-gone", "gone")
    unbranch(engine, "gone")
    fork(engine, "again")
    unbranch(engine, "again")
    fork(engine, "again", "dev")
    remove(engine, ["a"])
    add(engine, ["b>b"], to="Knows")
    return engine


def fork(engine: Engine, name: str, source: str = MAIN) -> None:
    manifest = engine.resolver.resolve(source)
    branches.create_branch(engine.root, engine.heads, name, manifest)


def unbranch(engine: Engine, name: str) -> None:
    branches.delete_branch(engine.root, engine.heads, name)


def tag(engine: Engine, name: str, at: str = MAIN) -> None:
    tags.create_tag(engine.root, name, engine.resolver.resolve(at))


def clone(source: Engine, target: Path, **options: Any) -> CloneResult:
    return omnigraph.clone(source.root.objects.uri, target, **options)


def files_below(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def require_equal(source: Engine, target: Path, names: list[str] | None = None) -> None:
    """The copy is whole, and shows what the source shows, now and at every commit."""
    copy = open_engine(target)
    require_whole(copy)
    assert copy.root.stamp.graph_id == source.root.stamp.graph_id
    assert open_branches(copy.root, copy.heads) == (
        names or open_branches(source.root, source.heads)
    )
    for name in open_branches(copy.root, copy.heads):
        told = [commit.id for commit in history(source, name)]
        assert [commit.id for commit in history(copy, name)] == told
        for commit in told:
            for of in ("Person", "Place", "Knows"):
                assert ids_of(copy, commit, of=of) == ids_of(source, commit, of=of)


# --- what is copied ---


def test_a_copy_has_everything_and_takes_writes_of_its_own(source: Engine, tmp_path: Path) -> None:
    result = clone(source, tmp_path / "copy.omni")
    assert result.branches == ("again", "dev", "main")
    assert result.graph_id == source.root.stamp.graph_id
    assert result.commits > 0
    require_equal(source, tmp_path / "copy.omni")
    copy = open_engine(tmp_path / "copy.omni")
    assert [found.name for found in copy.root.refs.tags()] == ["of-gone", "v1"]
    assert ids_of(copy, "of-gone") == ["a", "b", "gone"]
    add(copy, ["own"])
    assert ids_of(copy) == ["b", "own"]
    assert ids_of(source) == ["b"]
    require_whole(copy)
    fork(copy, "gone")
    assert copy.root.refs.branch("gone") is not None


def test_nothing_is_written_to_the_source(source: Engine, tmp_path: Path) -> None:
    before = files_below(tmp_path / "source.omni")
    clone(source, tmp_path / "copy.omni")
    assert files_below(tmp_path / "source.omni") == before


def test_only_what_is_needed_is_copied(source: Engine, tmp_path: Path) -> None:
    table = source.snapshot().table(source.snapshot().catalog.nodes[0].id)
    table.stage_append(table.scan())  # staged, and never committed
    copy = tmp_path / "copy.omni"
    clone(source, copy)
    held = set(files_below(copy))
    assert not [key for key in held if key.startswith((layout.RECOVERY, "__locks", "_clone"))]
    staged = {key for key in files_below(tmp_path / "source.omni") if key.startswith("nodes/")}
    assert len([key for key in staged - held if key.endswith(".lance")]) == 1


def test_some_branches_come_with_main_and_their_ancestors(source: Engine, tmp_path: Path) -> None:
    result = clone(source, tmp_path / "copy.omni", branches=["again"])
    assert result.branches == ("again", "main")
    require_equal(source, tmp_path / "copy.omni", ["again", "main"])
    copy = open_engine(tmp_path / "copy.omni")
    assert [found.name for found in copy.root.refs.tags()] == ["v1"], "of what is there"
    assert ids_of(copy, "again") == ["a", "b", "dev"], "its history leads through another branch"


def test_a_partial_copy_can_become_a_whole_one(source: Engine, tmp_path: Path) -> None:
    clone(source, tmp_path / "copy.omni", branches=["dev"])
    clone(source, tmp_path / "copy.omni", incremental=True)
    require_equal(source, tmp_path / "copy.omni")
    assert [found.name for found in open_engine(tmp_path / "copy.omni").root.refs.tags()] == [
        "of-gone",
        "v1",
    ]


def test_an_older_format_is_copied_in_the_newest(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "old.omni")
    add(engine, ["a"])
    fork(engine, "dev")
    age(tmp_path / "old.omni", 1)
    before = files_below(tmp_path / "old.omni")
    omnigraph.clone(tmp_path / "old.omni", tmp_path / "copy.omni")
    assert files_below(tmp_path / "old.omni") == before
    require_whole(open_engine(tmp_path / "copy.omni", read_only=True))
    assert ids_of(open_engine(tmp_path / "copy.omni"), "dev") == ["a"]


def test_what_recovery_did_comes_along(tmp_path: Path) -> None:
    uri = tmp_path / "source.omni"
    fork(new_engine(uri), "dev")
    doomed = (step("open"), step("arm"))
    with ProcessGroup() as crew:
        for point, branch in (
            ("attempt.tables_committed", "dev"),
            ("attempt.before_table_commit", "main"),
        ):
            write = step("add", ids={"Person": [branch]}, branch=branch)
            crew.run(Script(str(uri), (*doomed, write), f"{point}=kill"))
    source = open_engine(uri)
    rows = source.recovery.audit.rows()
    assert len(rows) == 2
    clone(source, tmp_path / "copy.omni")
    assert open_engine(tmp_path / "copy.omni").recovery.audit.rows() == rows
    # One name may stand by itself.
    clone(source, tmp_path / "part.omni", branches="main")
    part = open_engine(tmp_path / "part.omni")
    assert [row.branch for row in part.recovery.audit.rows()] == ["main"]
    require_whole(part)


def test_commits_that_only_the_lineage_remembers_come_along(source: Engine, tmp_path: Path) -> None:
    """As after a cleanup: the manifests of old commits are gone, their story is told."""
    told = [commit.id for commit in history(source)]
    source.lineage.refresh()
    source.lineage.archive()
    main = source.root.refs.branch(MAIN)
    assert main is not None
    (tmp_path / "source.omni" / layout.manifest(main.incarnation, 1)).unlink()
    cut = open_engine(tmp_path / "source.omni", read_only=True)
    assert [commit.id for commit in history(cut)] == told
    clone(cut, tmp_path / "copy.omni")
    copy = open_engine(tmp_path / "copy.omni")
    assert [commit.id for commit in history(copy)] == told
    assert ids_of(copy) == ["b"]


# --- again ---


def test_a_second_copy_brings_only_what_is_new(source: Engine, tmp_path: Path) -> None:
    copy = tmp_path / "copy.omni"
    clone(source, copy)
    assert clone(source, copy, incremental=True).to_json()["files"] == 0
    before = set(files_below(copy))
    add(source, ["c"])
    fork(source, "late")
    tag(source, "v2")
    unbranch(source, "again")
    result = clone(source, copy, incremental=True)
    # A commit, the first manifest of a fork, and a tombstone; one data file.
    assert (result.commits, result.branches) == (3, ("dev", "late", "main"))
    new = set(files_below(copy)) - before
    assert len([key for key in new if key.startswith("nodes/")]) == 2
    assert not [key for key in new if key.startswith("edges/")]
    require_equal(source, copy)


def test_incremental_is_fine_where_there_is_nothing_yet(source: Engine, tmp_path: Path) -> None:
    clone(source, tmp_path / "copy.omni", incremental=True)
    require_equal(source, tmp_path / "copy.omni")


def test_a_tag_that_was_made_again_is_followed(source: Engine, tmp_path: Path) -> None:
    clone(source, tmp_path / "copy.omni")
    tags.delete_tag(source.root, "v1")
    tag(source, "v1")
    clone(source, tmp_path / "copy.omni", incremental=True)
    assert ids_of(open_engine(tmp_path / "copy.omni"), "v1") == ["b"]


def test_the_cost_of_a_second_copy_follows_what_is_new(source: Engine, tmp_path: Path) -> None:
    def requests() -> int:
        counted = Between(open_objects(str(tmp_path / "source.omni")))
        run(source, tmp_path / "copy.omni", read=counted)
        return len(counted.calls)

    clone(source, tmp_path / "copy.omni")
    add(source, ["x0"])
    first = requests()
    for number in range(20):
        add(source, [f"y{number}"])
        clone(source, tmp_path / "copy.omni", incremental=True)
    add(source, ["x1"])
    assert requests() <= first + 1


# --- refusals ---


def refused(source: Engine, target: Path, code: str, **options: Any) -> None:
    """The clone is refused, and the target is what it was."""
    before = files_below(target) if target.exists() else None
    with pytest.raises(GraphError) as caught:
        clone(source, target, **options)
    assert caught.value.code == code
    assert caught.value.remedy
    assert (files_below(target) if target.exists() else None) == before


def test_a_copy_is_not_overwritten_by_accident(source: Engine, tmp_path: Path) -> None:
    clone(source, tmp_path / "copy.omni")
    refused(source, tmp_path / "copy.omni", "graph.exists")


def test_another_graph_is_never_touched(source: Engine, tmp_path: Path) -> None:
    new_engine(tmp_path / "other.omni")
    for incremental in (False, True):
        refused(source, tmp_path / "other.omni", "clone.other_graph", incremental=incremental)
    (tmp_path / "unfinished.omni").mkdir()
    marker = json.dumps({"format": 1, "graph_id": "another"})
    (tmp_path / "unfinished.omni" / layout.CLONE_MARKER).write_text(marker)
    refused(source, tmp_path / "unfinished.omni", "clone.other_graph")


@pytest.mark.parametrize("key", ["nodes/x/data/y.lance", "_init/00000001.json", "_refs/z"])
def test_a_place_that_holds_something_is_refused(source: Engine, tmp_path: Path, key: str) -> None:
    file = tmp_path / "copy.omni" / key
    file.parent.mkdir(parents=True)
    file.write_text("something")
    refused(source, tmp_path / "copy.omni", "clone.not_empty")


def test_files_that_are_none_of_ours_do_no_harm(source: Engine, tmp_path: Path) -> None:
    (tmp_path / "copy.omni").mkdir()
    (tmp_path / "copy.omni" / "README.md").write_text("mine")
    clone(source, tmp_path / "copy.omni")
    assert (tmp_path / "copy.omni" / "README.md").read_text() == "mine"


def test_a_graph_is_not_copied_into_itself(source: Engine, tmp_path: Path) -> None:
    for place in ("source.omni", "source.omni/copy", "."):
        refused_place = tmp_path / place
        with pytest.raises(GraphError) as caught:
            clone(source, refused_place)
        assert caught.value.code == "clone.same_place"
    require_whole(source)


def test_a_missing_branch_or_graph_leaves_nothing(source: Engine, tmp_path: Path) -> None:
    for names in (["nobody"], ["gone"], ["dev", "nobody"], ["bad name!"]):
        with pytest.raises(NotFound) as caught:
            clone(source, tmp_path / "copy.omni", branches=names)
        assert caught.value.code == "branch.missing"
    with pytest.raises(NotFound):
        omnigraph.clone(tmp_path / "none.omni", tmp_path / "copy.omni")
    assert not (tmp_path / "copy.omni").exists()


def test_a_copy_with_commits_of_its_own_is_left_alone(source: Engine, tmp_path: Path) -> None:
    clone(source, tmp_path / "ahead.omni")
    shutil.copytree(tmp_path / "ahead.omni", tmp_path / "aside.omni")
    shutil.copytree(tmp_path / "ahead.omni", tmp_path / "branched.omni")
    add(open_engine(tmp_path / "ahead.omni"), ["own"])
    refused(source, tmp_path / "ahead.omni", "clone.diverged", incremental=True)
    add(open_engine(tmp_path / "aside.omni"), ["own"])
    add(source, ["theirs"])
    refused(source, tmp_path / "aside.omni", "clone.diverged", incremental=True)
    fork(open_engine(tmp_path / "branched.omni"), "new")
    fork(source, "new")
    with pytest.raises(Conflict) as caught:
        clone(source, tmp_path / "branched.omni", incremental=True)
    assert caught.value.code == "clone.diverged"
    for place in ("ahead", "aside", "branched"):
        require_whole(open_engine(tmp_path / f"{place}.omni"))


def test_an_unfinished_copy_says_what_it_is(source: Engine, tmp_path: Path) -> None:
    copy = tmp_path / "copy.omni"
    with pytest.raises(StorageFault):
        run(source, copy, write=Interruption("write_chunks", lose_reply, nth=3))
    for attempt in (lambda: omnigraph.open(copy), lambda: new_engine(copy)):
        with pytest.raises((NotFound, AlreadyExists)) as caught:
            attempt()
        assert caught.value.code == "graph.half_cloned"


# --- interruptions ---


def run(
    source: Engine,
    target: Path,
    *,
    read: Any = None,
    write: Interruption | None = None,
) -> Between:
    """Clone with the doors watched: what was asked of the target."""
    read_only = open_engine(source.root.objects.uri, read_only=True)
    objects = Between(open_objects(str(target)), [write] if write else [])
    files = read or open_objects(source.root.objects.uri)
    copy_graph(
        read_only,
        files,
        CloneTarget(objects, LanceTables(str(target))),
        incremental=True,
    )
    return objects


@pytest.mark.parametrize("verb", ["put_if_absent", "write_chunks", "delete", "list"])
@pytest.mark.parametrize("after", [False, True])
def test_a_copy_that_fails_anywhere_goes_on_where_it_stopped(
    source: Engine, tmp_path: Path, verb: str, after: bool, pytestconfig: pytest.Config
) -> None:
    whole = run(source, tmp_path / "whole.omni")
    count = len([call for call in whole.calls if call[0] == verb])
    stride = 1 if pytestconfig.getoption("--whole") else 3
    for nth in {*range(1, count + 1, stride), count} - {0}:
        copy = tmp_path / f"{nth}.omni"
        failure = Interruption(verb, lose_reply, nth=nth, after=after)
        try:
            run(source, copy, write=failure)
        except StorageFault:
            stamped = (copy / layout.STAMP).exists()
            assert not stamped or verb in ("put_if_absent", "delete")
        assert failure.done
        again = run(source, copy)
        written = {key for done, key in again.calls if done == "write_chunks"}
        assert len(written) <= count, "what had arrived is not copied again"
        require_whole(open_engine(copy, read_only=True))
        assert ids_of(open_engine(copy)) == ["b"]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (layout.tag_ref("v1"), "tag 'v1'"),
        (layout.branch_ref("dev", 1), "branch 'dev'"),
        (layout.branch_ref("gone", 1), "branch 'gone'"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"branches": ["main"]}])
def test_a_source_with_an_unreadable_ref_is_not_copied(
    source: Engine, tmp_path: Path, key: str, name: str, options: dict[str, Any]
) -> None:
    """A copy that lacks a ref would pass for a complete backup."""
    file = tmp_path / "source.omni" / key
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StorageFault) as caught:
        clone(source, tmp_path / "copy.omni", **options)
    assert caught.value.code == "clone.unreadable_ref"
    assert name in caught.value.message
    assert key in (caught.value.remedy or "")
    assert not (tmp_path / "copy.omni").exists()
    file.write_bytes(whole)
    clone(source, tmp_path / "copy.omni", **options)


def test_what_vanishes_under_the_copy_is_told(source: Engine, tmp_path: Path) -> None:
    inner = open_objects(source.root.objects.uri)
    key = next(key for key in inner.list("nodes") if key.endswith(".lance"))
    inner.delete(key)
    with pytest.raises(Conflict) as caught:
        clone(source, tmp_path / "copy.omni")
    assert caught.value.code == "clone.source_moved"
    assert not (tmp_path / "copy.omni" / layout.STAMP).exists()


def test_a_damaged_file_in_the_copy_is_found_before_anything_names_it(
    source: Engine, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.omni"
    objects = open_objects(str(copy))

    def swallow() -> None:
        for key in objects.list("nodes"):
            if "/data/" in key:
                objects.delete(key)

    snapshot = source.snapshot()
    people = snapshot.manifest.pins[snapshot.catalog.nodes[0].id].path
    with pytest.raises(StorageFault) as caught:
        run(source, copy, write=Interruption("put_if_absent", swallow, prefix=people))
    assert caught.value.code == "clone.incomplete"
    assert not (copy / "__manifest").exists()
    run(source, copy)
    require_equal(source, copy)


# --- under writers ---


def test_every_copy_made_under_writers_is_whole_and_current(tmp_path: Path) -> None:
    uri = tmp_path / "source.omni"
    engine = new_engine(uri)
    fork(engine, "dev")
    ending = threading.Event()
    acknowledged: dict[str, list[str]] = {MAIN: [], "dev": []}

    def write(branch: str) -> None:
        mine = open_engine(uri)
        number = 0
        while not ending.wait(0.01):
            key = f"{branch}-{number}"
            add(mine, [key], branch=branch)
            acknowledged[branch].append(key)
            if number % 5 == 4:
                remove(mine, [acknowledged[branch].pop(0)], branch=branch)
            number += 1

    writers = [threading.Thread(target=write, args=(branch,)) for branch in acknowledged]
    for writer in writers:
        writer.start()
    try:
        for number in range(4):
            before = {branch: list(keys) for branch, keys in acknowledged.items()}
            place = tmp_path / f"copy{number % 2}.omni"
            omnigraph.clone(uri, place, incremental=True)
            copy = open_engine(place, read_only=True)
            require_whole(copy)
            for branch, keys in before.items():
                later = [c.id for c in history(engine, branch)]
                assert copy.resolver.resolve(branch).commit.id in later
                gone = set(keys) - set(ids_of(copy, branch))
                assert gone <= set(keys) - set(acknowledged[branch]), "removed since, or lost"
    finally:
        ending.set()
        for writer in writers:
            writer.join()
    require_whole(open_engine(uri))


def test_writers_in_other_processes_are_copied_too(tmp_path: Path) -> None:
    uri = tmp_path / "source.omni"
    engine = new_engine(uri)
    fork(engine, "dev")
    scripts = [
        (step("open"), *(step("add", ids={"Person": [f"{b}{n}"]}, branch=b) for n in range(30)))
        for b in (MAIN, "dev")
    ]
    with ProcessGroup() as crew:
        children = [crew.start(Script(str(uri), steps)) for steps in scripts]
        copies = 0
        while any(child.is_alive() for child in children) and copies < 20:
            omnigraph.clone(uri, tmp_path / "copy.omni", incremental=True)
            require_whole(open_engine(tmp_path / "copy.omni", read_only=True))
            copies += 1
        for child in children:
            assert all(outcome.is_done for outcome in child.join())
    assert copies > 1
    omnigraph.clone(uri, tmp_path / "copy.omni", incremental=True)
    require_equal(engine, tmp_path / "copy.omni")


# --- buckets ---


@pytest.mark.s3
def test_a_graph_goes_to_a_bucket_and_comes_back(
    source: Engine, tmp_path: Path, s3_uri: str, s3_endpoint: S3Endpoint
) -> None:
    options = s3_endpoint.storage_options
    omnigraph.clone(tmp_path / "source.omni", s3_uri, target_storage_options=options)
    there = open_engine(s3_uri, storage_options=options)
    require_whole(there)
    assert ids_of(there, "dev") == ["a", "b", "dev"]
    add(there, ["cloud"])
    result = omnigraph.clone(
        s3_uri, tmp_path / "back.omni", storage_options=options, target_storage_options={}
    )
    assert result.target == str(tmp_path / "back.omni")
    require_equal(there, tmp_path / "back.omni")
    again = omnigraph.clone(f"{s3_uri}", f"{s3_uri}-2", storage_options=options)
    assert again.branches == result.branches
    require_whole(open_engine(f"{s3_uri}-2", storage_options=options, read_only=True))
    with pytest.raises(Conflict):
        omnigraph.clone(
            tmp_path / "source.omni", s3_uri, target_storage_options=options, incremental=True
        )
