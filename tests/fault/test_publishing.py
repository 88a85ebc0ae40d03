"""The swap of a manifest: lost replies, stale publishers, graphs that move away, interruptions.

Guards INV-2 and INV-13: what was reported as failed never appears, what cannot be told is said to
be unknown, and what nobody can see is never acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.lance import tables as lance_tables
from omnigraph.adapters.lance.commits import transactions
from omnigraph.adapters.lance.staging import changes
from omnigraph.api.commits import WriterKind
from omnigraph.errors import Conflict, GraphError, OutcomeUnknown, StorageFault
from omnigraph.runtime import faults
from omnigraph.testing.kit import FAST, Add, add, history, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption, lose_reply
from omnigraph.testing.kit_steps import WRITE_POINTS
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    # What interrupts a write here is another write of the same thread.
    engine.transactions.locks.enabled = False
    return tmp_path / "graph"


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def bystander(path: Path) -> Engine:
    """Somebody else, who does not wait for the lease that the interrupted writer holds."""
    engine = open_engine(path)
    engine.transactions.leases.enabled = False
    return engine


def with_objects(path: Path, *interruptions: Interruption) -> Engine:
    return open_engine(path, wrap_objects=lambda objects: Between(objects, list(interruptions)))


def swaps(action: Callable[[], None], **where: object) -> Interruption:
    return Interruption("put_if_absent", action, prefix="__manifest", **where)  # type: ignore[arg-type]


def test_a_lost_reply_of_the_swap_is_resolved_by_the_commit_id(path: Path) -> None:
    lost = swaps(lose_reply, after=True)
    commit = add(with_objects(path, lost), ["new"])
    assert lost.done
    engine = open_engine(path)
    assert [entry.id for entry in history(engine)].count(commit) == 1
    assert ids_of(engine) == ["new", "old"]
    assert WriterKind.RECOVERY not in {entry.kind for entry in history(engine)}
    require_whole(engine)


def test_a_swap_that_never_arrives_is_tried_again(path: Path) -> None:
    add(with_objects(path, swaps(lose_reply)), ["new"])
    engine = open_engine(path)
    assert ids_of(engine) == ["new", "old"]
    require_whole(engine)


def test_a_swap_that_always_fails_is_a_definite_failure_that_never_appears(path: Path) -> None:
    tries = FAST.publish_retries + 1
    broken = with_objects(path, *(swaps(lose_reply, nth=turn) for turn in range(1, tries + 1)))
    with pytest.raises(StorageFault):
        add(broken, ["never"])
    engine = open_engine(path)
    assert ids_of(engine) == ["old"]
    assert engine.recovery.intents.pending() == {}
    add(engine, ["next"])
    assert ids_of(engine) == ["next", "old"]
    require_whole(engine)


@pytest.mark.parametrize("lands", [False, True])
def test_what_can_be_neither_published_nor_voided_is_unknown_and_decided_by_recovery(
    lands: bool, path: Path
) -> None:
    """The storage goes away during the swap and stays away."""
    broken = with_objects(path)
    objects = broken.root.objects
    assert isinstance(objects, Between)

    def vanish() -> None:
        for verb in ("put_if_absent", "exists", "list", "get"):
            objects.interruptions += [
                Interruption(verb, lose_reply, nth=n, prefix="__manifest") for n in range(1, 50)
            ]
        lose_reply()

    objects.interruptions.append(swaps(vanish, after=lands))
    with pytest.raises(OutcomeUnknown) as unknown:
        add(broken, ["perhaps"])
    commit = unknown.value.details["commit_id"]
    engine = open_engine(path)
    assert (commit in [entry.id for entry in history(engine)]) is True, "it had confirmed"
    assert ids_of(engine) == ["old", "perhaps"]
    require_whole(engine)


# --- a stale publisher after cleanup -------------------------------------------------------------


def overtaken_and_cleaned(path: Path, branch: str = "main") -> Callable[[], None]:
    """Others publish three commits, and cleanup frees the number that the paused writer wants."""

    def overtake() -> None:
        other = bystander(path)
        head = other.heads.of_branch(branch)[1]
        for number in range(3):
            add(other, [f"other-{number}"], branch=branch, to="Place")
        for number in range(1, head.version + 2):
            (path / layout.manifest(head.incarnation, number)).unlink()

    return overtake


def test_a_stale_publisher_never_acknowledges_what_nobody_will_see(path: Path) -> None:
    """The number is free again, the swap succeeds, and the commit is invisible."""
    stale = with_objects(path, swaps(overtaken_and_cleaned(path)))
    with pytest.raises((Conflict, OutcomeUnknown)):
        add(stale, ["ghost"])
    engine = open_engine(path)
    assert ids_of(engine) == ["old"]
    assert ids_of(engine, of="Place") == ["other-0", "other-1", "other-2"]
    add(engine, ["next"])
    assert ids_of(open_engine(path)) == ["next", "old"]


def test_a_version_that_no_commit_links_to_cannot_be_read_by_its_number(path: Path) -> None:
    stale = with_objects(path, swaps(overtaken_and_cleaned(path)))
    ghost = stale.resolver.resolve("main").version + 1
    with pytest.raises(GraphError):
        add(stale, ["ghost"])
    engine = open_engine(path)
    with pytest.raises(GraphError):
        ids_of(engine, f"main@v{ghost}")
    assert ids_of(engine, f"main@v{ghost + 1}", of="Place") == ["other-0", "other-1"]


# --- a graph that is moved away under a living writer --------------------------------------------


@pytest.mark.parametrize("point", WRITE_POINTS)
def test_a_graph_that_is_moved_away_takes_no_more_writes_at_its_old_place(
    point: str, path: Path, tmp_path: Path
) -> None:
    writer = open_engine(path)
    moved = tmp_path / "moved"
    faults.arm(point, lambda: path.rename(moved))
    try:
        add(writer, ["new"])
        acknowledged = True
    except OutcomeUnknown:
        acknowledged = None
    except GraphError:
        acknowledged = False
    faults.clear()
    engine = open_engine(moved)
    if acknowledged is not None:
        assert ids_of(engine) == (["new", "old"] if acknowledged else ["old"])
    add(engine, ["next"])
    require_whole(engine)
    with pytest.raises(GraphError):
        open_engine(path)


@pytest.mark.parametrize(("moment", "nth"), [("write_rows", 1), ("commit_detached", 1)])
def test_a_directory_that_lance_makes_again_is_not_taken_for_the_graph(
    moment: str, nth: int, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph goes away in the middle of a commit; Lance re-creates its path and succeeds."""
    writer = open_engine(path)
    moved = tmp_path / "moved"
    holders = (changes, lance_tables) if moment == "write_rows" else (transactions,)
    inner, count = getattr(holders[0], moment), 0

    def move_first(*arguments: object, **named: object) -> object:
        nonlocal count
        count += 1
        if count == 1:
            path.rename(moved)
        return inner(*arguments, **named)

    for holder in holders:
        monkeypatch.setattr(holder, moment, move_first)
    with pytest.raises(GraphError) as refused:
        add(writer, ["ghost"])
    assert count >= 1
    monkeypatch.undo()
    engine = open_engine(moved)
    if not isinstance(refused.value, OutcomeUnknown):
        assert ids_of(engine) == ["old"]
    add(engine, ["next"])
    require_whole(engine)


# --- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("point", WRITE_POINTS)
def test_an_interrupt_ends_the_program_and_its_note_tells_whether_the_commit_landed(
    point: str, path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    writer = open_engine(path)
    faults.arm(point, interrupt)
    try:
        add(writer, ["new"])
        raise AssertionError("the interrupt was swallowed")
    except KeyboardInterrupt as stop:
        landed = any("landed" in note for note in getattr(stop, "__notes__", ()))
    faults.clear()
    engine = open_engine(path)
    assert ("new" in ids_of(engine)) == landed
    assert engine.recovery.intents.pending() == {}
    require_whole(engine)


# --- the other publications ----------------------------------------------------------------------


def test_a_commit_that_others_rolled_forward_before_the_branch_was_deleted_is_a_success(
    path: Path,
) -> None:
    """The writer sees an error; meanwhile its commit is published, and the branch deleted."""
    other = bystander(path)
    create_branch(other.root, other.heads, "dev", other.resolver.resolve("main"))

    def overtake() -> None:
        delete_branch(other.root, other.heads, "dev")
        lose_reply()

    writer = with_objects(path, swaps(overtake, after=True))
    manifest = writer.transactions.run(WriteRequest("dev"), Add({"Person": ["new"]}))
    assert manifest is not None
    assert ids_of(writer, "main") == ["old"]
    require_whole(open_engine(path))


def test_a_deletion_whose_swap_failed_without_an_answer_is_unknown(path: Path) -> None:
    """The request may still be on its way: nobody may be told that the branch is safe."""
    other = bystander(path)
    create_branch(other.root, other.heads, "dev", other.resolver.resolve("main"))
    tries = FAST.publish_retries + 1
    broken = with_objects(path, *(swaps(lose_reply, nth=turn) for turn in range(1, tries + 1)))
    with pytest.raises(OutcomeUnknown):
        delete_branch(broken.root, broken.heads, "dev")
    assert "dev" in open_branches(other.root, other.heads)


def test_of_two_deletions_at_once_one_succeeds_and_the_other_is_told(path: Path) -> None:
    other = bystander(path)
    create_branch(other.root, other.heads, "dev", other.resolver.resolve("main"))
    deleter = with_objects(path, swaps(lambda: delete_branch(other.root, other.heads, "dev")))
    with pytest.raises(Conflict) as told:
        delete_branch(deleter.root, deleter.heads, "dev")
    assert told.value.code == "branch.deleted"
    require_whole(open_engine(path))


def test_nothing_to_do_makes_no_commit(path: Path) -> None:
    """INV-4: a change without effect is none."""
    engine = open_engine(path)
    before = history(engine)
    assert engine.transactions.run(WriteRequest("main"), Add({"Person": []})) is None
    assert history(engine) == before
