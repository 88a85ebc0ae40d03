"""What recovery makes of intents: good ones, strange ones, and ones whose owners live.

Guards INV-5: an intent, whatever it holds, blocks nobody.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from omnigraph.api.commits import WriterKind
from omnigraph.api.status import RecoveryOutcome
from omnigraph.coordination.heartbeat import HEARTBEATS
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.recovery.intents import Intent, IntentStore, PlannedTable
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import CommitId, new_ulid
from omnigraph.testing.kit import FAST, Add, add, history, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption, lose_reply
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.publish import ManifestDraft, Publication
from omnigraph.writer.plan import WriteSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

DEAD = Owner(current_owner().host, 2**22 + 1, "0", "nobody")
ELSEWHERE = Owner("another-machine", 1, "0", "somebody")


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = new_engine(tmp_path / "graph")
    add(made, ["old"])
    return made


def intent_on(engine: Engine, owner: Owner = DEAD) -> Intent:
    """An intent of an operation that touches no table: a change of the schema, for example."""
    head = engine.resolver.resolve("main")
    return Intent(
        Publication(
            ManifestDraft(new_ulid(), "main", WriterKind.SCHEMA, actor="ada"),
            head.incarnation,
            head.commit.ref,
            head.commit.schema,
        ),
        (),
        owner,
        SYSTEM_CLOCK.now_micros(),
    )


def left_by(crew: ProcessGroup, path: Path, point: str, key: str) -> None:
    """Let a child die at a point while it adds somebody."""
    steps = (step("open"), step("arm"), step("add", ids={"Person": [key]}))
    child = crew.start(Script(str(path), steps, f"{point}=kill"))
    child.join()
    assert child.was_killed


def with_tables(engine: Engine, *, committed: bool, owner: Owner = DEAD) -> Intent:
    """An intent that adds ``late`` to main, and its table commit."""
    intent = intent_on(engine, owner)
    view = WriteSnapshot(*engine.heads.of_branch("main"), engine.snapshot("main"))
    prepared = Add({"Person": ["late"]}).prepare(view)
    assert prepared is not None
    (effect,) = prepared.effects
    tables = (PlannedTable(effect.type_id, effect.pin),)
    engine.recovery.intents.arm(replace(intent, tables=tables))
    if committed:
        engine.root.tables.commit(effect.pin, effect.staged, operation_id=intent.id)
    return intent


def test_an_intent_whose_tables_were_not_committed_is_rolled_back(engine: Engine) -> None:
    intent = with_tables(engine, committed=False)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_BACK
    assert intent.id not in [commit.id for commit in history(engine)]
    voiding = engine.resolver.resolve("main").commit
    assert voiding.kind is WriterKind.RECOVERY
    assert row.recovery_commit_id == voiding.id
    assert engine.recovery.audit.rows()[-1] == row
    require_whole(engine)


def test_an_intent_whose_tables_were_committed_is_rolled_forward(engine: Engine) -> None:
    intent = with_tables(engine, committed=True)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_FORWARD
    assert ids_of(engine) == ["late", "old"]
    assert (history(engine)[0].id, row.recovery_commit_id) == (intent.id, intent.id)
    require_whole(engine)


def test_versions_from_before_a_restart_of_the_machine_are_not_completed(engine: Engine) -> None:
    """A power cut may have torn their files."""
    host = "another-boot/pid:[1]"
    intent = with_tables(engine, committed=True, owner=replace(DEAD, host=host))
    assert engine.recovery.sweep() == [], "it may live"
    SYSTEM_CLOCK.sleep(FAST.intent_term_seconds * 1.2)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_BACK
    assert intent.id not in [commit.id for commit in history(engine)]


def test_an_owner_that_gave_up_is_not_rolled_forward(engine: Engine) -> None:
    intent = with_tables(engine, committed=True)
    assert engine.recovery.intents.confirm(intent.id, None)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_BACK
    assert ids_of(engine) == ["old"]
    require_whole(engine)


def test_an_owner_that_gives_up_before_recovery_confirms_has_the_last_word(
    engine: Engine,
) -> None:
    """Recovery has read the intent; the owner voids it, removes it and reports the failure."""
    intents = engine.recovery.intents
    intent = with_tables(engine, committed=True)

    def give_up() -> None:
        assert intents.confirm(intent.id, None)
        intents.remove(intent.id, ("json", "confirmed.json"))

    faults.arm("recovery.classified", give_up)
    assert engine.recovery.sweep() == []
    assert ids_of(engine) == ["old"]
    assert intents.pending() == {}
    require_whole(engine)


def test_an_owner_that_gives_up_after_recovery_confirmed_finds_it_published(
    engine: Engine,
) -> None:
    intents = engine.recovery.intents
    intent = with_tables(engine, committed=True)
    voided: list[bool] = []
    faults.arm("recovery.confirmed", lambda: voided.append(intents.confirm(intent.id, None)))
    (row,) = engine.recovery.sweep()
    assert (voided, row.outcome) == ([False], RecoveryOutcome.ROLLED_FORWARD)
    assert ids_of(engine) == ["late", "old"]


def test_a_long_job_that_died_while_staging_is_rolled_back(engine: Engine) -> None:
    intent = intent_on(engine)
    engine.recovery.intents.announce(intent)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_BACK
    require_whole(engine)


def test_an_intent_without_tables_is_rolled_forward_under_its_own_id(
    engine: Engine,
) -> None:
    intent = intent_on(engine)
    engine.recovery.intents.arm(intent)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_FORWARD
    newest = history(engine)[0]
    assert (newest.id, newest.actor) == (intent.id, "ada")
    require_whole(engine)


@pytest.mark.parametrize(
    "moment", ["recovery.classified", "recovery.confirmed", "recovery.audited"]
)
def test_recovery_that_dies_is_finished_by_the_next_one_with_one_audit_row(
    moment: str, tmp_path: Path, engine: Engine, crew: ProcessGroup
) -> None:
    path = tmp_path / "graph"
    left_by(crew, path, "attempt.tables_committed", "new")
    for _ in range(3):
        child = crew.start(Script(str(path), (step("open"),), f"{moment}=kill"))
        child.join()
        assert child.was_killed
    engine = open_engine(path)
    assert ids_of(engine) == ["new", "old"]
    assert [row.outcome for row in engine.recovery.audit.rows()] == [RecoveryOutcome.ROLLED_FORWARD]
    require_whole(engine)


def test_the_intent_of_a_living_process_of_another_machine_is_left_alone_until_it_stands_still(
    engine: Engine,
) -> None:
    intent = intent_on(engine, ELSEWHERE)
    engine.recovery.intents.arm(intent)
    assert engine.recovery.sweep() == []
    for _ in range(4):
        SYSTEM_CLOCK.sleep(FAST.intent_term_seconds / 2)
        engine.recovery.intents.beat(intent.id)
        assert engine.recovery.sweep() == [], "its heart beats"
    add(engine, ["meanwhile"])
    SYSTEM_CLOCK.sleep(FAST.intent_term_seconds * 1.2)
    (row,) = engine.recovery.sweep()
    assert row.outcome is RecoveryOutcome.ROLLED_BACK
    require_whole(engine)


def test_what_this_process_gave_up_is_resolved_without_waiting(engine: Engine) -> None:
    """Nobody in this process works on it any more, and nobody knows that better."""
    engine.recovery.intents.arm(intent_on(engine, current_owner()))
    assert [row.outcome for row in engine.recovery.sweep()] == [RecoveryOutcome.ROLLED_FORWARD]


def test_what_this_process_is_at_work_on_is_left_alone(engine: Engine) -> None:
    intent = intent_on(engine, current_owner())
    with HEARTBEATS.renewing(engine.recovery.intents, intent.id, 60.0):
        engine.recovery.intents.arm(intent)
        SYSTEM_CLOCK.sleep(FAST.intent_term_seconds * 1.2)
        assert engine.recovery.sweep() == []
        assert [pending.reason for pending in engine.recovery.pending()] == ["in flight"]


def test_a_long_attempt_shows_signs_of_life_even_beside_others_that_beat_slowly(
    engine: Engine,
) -> None:
    slow, quick = intent_on(engine), intent_on(engine)
    store = engine.recovery.intents
    with HEARTBEATS.renewing(store, slow.id, 60.0), HEARTBEATS.renewing(store, quick.id, 0.05):
        SYSTEM_CLOCK.sleep(0.4)
        first = store.heartbeat(quick.id)
        SYSTEM_CLOCK.sleep(0.4)
        assert first
        assert store.heartbeat(quick.id) != first
        assert store.heartbeat(slow.id) == b""
    SYSTEM_CLOCK.sleep(0.1)
    assert engine.recovery.intents.pending() == {}


def test_the_heart_goes_on_when_one_of_its_beats_fails(engine: Engine) -> None:
    """A storage that fails one operation, even in an unforeseen way, does not kill the others."""

    class Broken(IntentStore):
        def beat(self, operation: CommitId) -> None:
            raise ZeroDivisionError

    sick, well = intent_on(engine), intent_on(engine)
    store = engine.recovery.intents
    broken = Broken(engine.root.objects)
    with HEARTBEATS.renewing(broken, sick.id, 0.02), HEARTBEATS.renewing(store, well.id, 0.05):
        SYSTEM_CLOCK.sleep(0.3)
        first = store.heartbeat(well.id)
        SYSTEM_CLOCK.sleep(0.3)
        assert first
        assert store.heartbeat(well.id) != first


def test_crumbs_of_a_settled_operation_are_swept_up(engine: Engine) -> None:
    intent = intent_on(engine)
    engine.recovery.intents.beat(intent.id)
    engine.recovery.intents.confirm(intent.id, {})
    assert engine.recovery.sweep() == []
    assert engine.recovery.intents.pending() == {}


def test_an_intent_that_appears_while_it_is_listed_is_not_taken_for_crumbs(
    tmp_path: Path, engine: Engine
) -> None:
    """A listing is no snapshot: it may show the confirmation and miss the intent beside it."""
    intent = intent_on(engine, ELSEWHERE)
    engine.recovery.intents.arm(intent)
    engine.recovery.intents.confirm(intent.id, {})
    key = f"{layout.RECOVERY}/{intent.id}.json"

    class Torn(Between):
        def list(self, prefix: str) -> list[str]:
            return [found for found in self.inner.list(prefix) if found != key]

    other = open_engine(tmp_path / "graph", wrap_objects=Torn)
    other.recovery.sweep()
    assert engine.root.objects.exists(key)
    assert engine.recovery.intents.read_confirmation(intent.id) is not None


STRANGE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"7",
    b"\xff\xfe",
    b'{"format": 1}',
    b'{"format": "1"}',
    b'{"format": 99, "publication": {}}',
]


@pytest.mark.parametrize("suffix", ["json", "staging.json", "confirmed.json", "alive.json"])
@pytest.mark.parametrize("body", STRANGE)
def test_a_strange_object_among_the_intents_blocks_nobody(
    body: bytes, suffix: str, tmp_path: Path, engine: Engine
) -> None:
    operation = new_ulid()
    if suffix in {"confirmed.json", "alive.json"}:
        intent = intent_on(engine)
        operation = intent.id
        engine.recovery.intents.arm(intent)
    engine.root.objects.put(f"{layout.RECOVERY}/{operation}.{suffix}", body)
    again = open_engine(tmp_path / "graph")
    add(again, ["new"])
    assert ids_of(open_engine(tmp_path / "graph", read_only=True)) == ["new", "old"]
    if suffix in {"json", "staging.json"}:
        (pending,) = again.recovery.pending()
        assert pending.id == operation
        assert "unreadable" in pending.reason


def values() -> st.SearchStrategy[object]:
    scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    return scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(path=st.lists(st.integers(0, 30), min_size=1, max_size=4), value=values())
@example(path=[3, 5], value=[])
@example(path=[3, 0, 0], value={})
@example(path=[3, 1, 4], value=[])
def test_an_intent_with_any_field_replaced_blocks_nobody(
    path: list[int], value: object, engine: Engine
) -> None:
    intent = intent_on(engine)
    body = json.loads(intent.to_bytes())
    place, inner = body, body
    key = ""
    for number in path:
        if not isinstance(inner, dict) or not inner:
            break
        place, key = inner, sorted(inner)[number % len(inner)]
        inner = inner[key]
    place[key] = value
    engine.root.objects.put(
        f"{layout.RECOVERY}/{intent.id}.json", json.dumps(body, sort_keys=True).encode()
    )
    engine.recovery.sweep()
    assert ids_of(engine) == ["old"]
    engine.recovery.intents.remove(intent.id)


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The places of all values that hold no others."""
    inner: list[tuple[object, object]] = []
    if isinstance(value, dict):
        inner = sorted(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for key, child in inner:
        yield from leaves(child, (*path, key))
    if not inner:
        yield path


WRONG: tuple[object, ...] = (None, 10**30, -1, "x", [], {}, 1.5)


def test_a_complete_intent_with_one_wrong_value_blocks_nobody_and_publishes_nothing(
    tmp_path: Path, crew: ProcessGroup, pytestconfig: pytest.Config
) -> None:
    """A complete intent is rolled forward: a schema that does not exist, or a name that is a
    number, would reach the manifest or stop every open."""
    path = tmp_path / "graph"
    add(new_engine(path), ["old"])
    left_by(crew, path, "attempt.tables_committed", "new")
    crew.start(Script(str(path), (step("open"),), "recovery.confirmed=kill")).join()
    saved = {file.name: file.read_bytes() for file in (path / layout.RECOVERY).iterdir()}
    assert len(saved) == 2, "the intent and its confirmation"
    cases = [
        (name, place, wrong)
        for name, text in saved.items()
        for place in leaves(json.loads(text))
        for wrong in WRONG
    ]
    engine = open_engine(path, read_only=True)
    head = engine.resolver.resolve("main").commit.id
    for suffix, place, wrong in cases if pytestconfig.getoption("--whole") else cases[::11]:
        body = json.loads(saved[suffix])
        inner = body
        for key in place[:-1]:
            inner = inner[key]
        if inner[place[-1]] == wrong:
            continue
        inner[place[-1]] = wrong
        for kept, text in saved.items():
            altered = json.dumps(body, sort_keys=True).encode() if kept == suffix else text
            (path / layout.RECOVERY / kept).unlink(missing_ok=True)
            (path / layout.RECOVERY / kept).write_bytes(altered)
        open_engine(path)
        assert engine.resolver.resolve("main").commit.id == head, (suffix, place, wrong)
    for kept, text in saved.items():
        (path / layout.RECOVERY / kept).write_bytes(text)
    engine = open_engine(path)
    assert ids_of(engine) == ["new", "old"]
    require_whole(engine)


def test_a_kept_intent_is_reported_once_by_every_opener(
    tmp_path: Path, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    operation = new_ulid()
    engine.root.objects.put(f"{layout.RECOVERY}/{operation}.json", b"{}")
    opened = open_engine(tmp_path / "graph")
    opened.recovery.sweep()
    assert caplog.text.count(operation) == 1


def test_an_operation_older_than_the_memory_of_voids_is_not_rolled_forward(
    tmp_path: Path, engine: Engine, crew: ProcessGroup
) -> None:
    """It may have been declared void, and forgotten, since: only its age tells."""
    path = tmp_path / "graph"
    left_by(crew, path, "attempt.tables_committed", "late")
    limits = replace(FAST, void_memory_seconds=0.4)
    SYSTEM_CLOCK.sleep(0.5)
    late = open_engine(path, limits=limits)
    assert ids_of(late) == ["old"]
    assert [row.outcome for row in late.recovery.audit.rows()] == [RecoveryOutcome.ROLLED_BACK]
    require_whole(late)


def test_an_attempt_older_than_the_memory_of_voids_gives_up(
    tmp_path: Path, engine: Engine, crew: ProcessGroup
) -> None:
    limits = replace(FAST, void_memory_seconds=0.4, intent_term_seconds=60.0)
    steps = (step("open"), step("arm"), step("add", ids={"Person": ["late"]}))
    child = crew.start(
        Script(str(tmp_path / "graph"), steps, "attempt.before_table_commit=stop", limits=limits)
    )
    child.await_stop()
    SYSTEM_CLOCK.sleep(0.5)
    child.resume()
    assert [outcome.code for outcome in child.join()][-1] == "attempt.too_old"
    assert ids_of(open_engine(tmp_path / "graph")) == ["old"]


def test_nothing_left_behind_costs_one_list(tmp_path: Path, engine: Engine) -> None:
    counted = open_engine(tmp_path / "graph", wrap_objects=Between)
    objects = counted.root.objects
    assert isinstance(objects, Between)
    objects.calls.clear()
    counted.recovery.sweep()
    assert objects.calls == [("list", layout.RECOVERY)]


@pytest.mark.parametrize("after", [False, True])
def test_an_audit_row_whose_write_failed_is_written_once_by_the_next_sweep(
    after: bool, tmp_path: Path, engine: Engine
) -> None:
    intent = intent_on(engine)
    engine.recovery.intents.arm(intent)
    failure = Interruption("put_if_absent", lose_reply, prefix=layout.AUDIT, after=after)
    other = open_engine(
        tmp_path / "graph", wrap_objects=lambda objects: Between(objects, [failure])
    )
    assert failure.done
    assert intent.id in other.recovery.intents.pending()
    add(other, ["new"])
    assert [row.operation_id for row in other.recovery.audit.rows()] == [intent.id]
    assert other.recovery.intents.pending() == {}
    require_whole(other)
