"""Owners, intents and the audit, each by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.commits import CommitRef, Counts, WriterKind
from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.catalog.model import TypeId
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import StorageFault
from omnigraph.ports.tables import Pin
from omnigraph.recovery.intents import Confirmation, Intent, IntentKeys, PlannedTable
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.ids import CommitId, new_ulid
from omnigraph.testing.kit import new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.versioning import layout
from omnigraph.versioning.publish import ManifestDraft, Publication

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine

PIN = Pin("nodes/x", 3, "f", 7)
INTENT = Intent(
    Publication(
        ManifestDraft(
            new_ulid(),
            "main",
            WriterKind.MERGE,
            actor="ada",
            message="m",
            counts=Counts(1, 2, 3, 4, 5, 6),
            merged_parent=CommitRef(CommitId("p"), "i", 2),
            idempotency_key="k",
            request_digest="d",
        ),
        "i",
        CommitRef(CommitId("c"), "i", 1),
        "schema",
        moved={TypeId("new"): PIN},
        dropped=frozenset({TypeId("b"), TypeId("a")}),
        expected={TypeId("a"): "f", TypeId("new"): None},
        new_schema="another",
        if_commit="c",
    ),
    (PlannedTable(TypeId("a"), PIN),),
    current_owner(),
    17,
)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_engine(tmp_path / "graph")


# --- owners --------------------------------------------------------------------------------------


def test_this_process_lives() -> None:
    owner = current_owner()
    assert owner.is_here()
    assert owner.is_this_process()
    assert not owner.is_gone()
    assert Owner.from_json(owner.to_json()) == owner


def test_a_process_that_ended_is_gone_and_so_is_a_zombie() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    status = f"/proc/{child.pid}/stat"
    with open(status) as file:  # noqa: PTH123 - a file of the kernel
        started = file.read().rpartition(")")[2].split()[19]
    owner = replace(current_owner(), pid=child.pid, started=started)
    assert not owner.is_gone()
    os.kill(child.pid, signal.SIGKILL)
    deadline = SYSTEM_CLOCK.monotonic() + 5
    while not owner.is_gone() and SYSTEM_CLOCK.monotonic() < deadline:
        SYSTEM_CLOCK.sleep(0.01)
    assert owner.is_gone(), "it is a zombie: nobody has waited for it"
    child.communicate()
    assert owner.is_gone()


def test_a_reused_process_id_is_another_process() -> None:
    assert replace(current_owner(), started="1").is_gone()


def test_a_process_of_another_machine_or_another_boot_cannot_be_judged() -> None:
    elsewhere = replace(current_owner(), host="elsewhere", pid=2**22 + 1)
    assert not elsewhere.is_here()
    assert not elsewhere.is_gone()


@pytest.mark.parametrize("pid", [0, -1, 2**40, "1", None, 1.5])
def test_what_is_no_process_id_is_refused(pid: object) -> None:
    with pytest.raises(ValueError, match="process"):
        Owner.from_json({**current_owner().to_json(), "pid": pid})


# --- intents -------------------------------------------------------------------------------------


def test_an_intent_comes_back_as_it_was_armed(engine: Engine) -> None:
    engine.recovery.intents.arm(INTENT)
    assert engine.recovery.intents.read(IntentKeys(INTENT.id, armed=True)) == INTENT


def test_an_intent_that_describes_another_operation_is_unreadable(engine: Engine) -> None:
    other = new_ulid()
    engine.root.objects.put(f"{layout.RECOVERY}/{other}.json", INTENT.to_bytes())
    with pytest.raises(StorageFault) as told:
        engine.recovery.intents.read(IntentKeys(other, armed=True))
    assert told.value.code == "intent.unreadable"


def test_what_an_operation_has_put_is_listed_by_its_parts(engine: Engine) -> None:
    intents = engine.recovery.intents
    intents.announce(INTENT)
    intents.arm(INTENT)
    assert intents.confirm(INTENT.id, {TypeId("a"): PIN})
    intents.beat(INTENT.id)
    engine.root.objects.put(f"{layout.RECOVERY}/notes.txt", b"mine")
    assert intents.pending() == {
        INTENT.id: IntentKeys(INTENT.id, armed=True, staging=True, confirmed=True, alive=True)
    }
    assert intents.read_confirmation(INTENT.id) == Confirmation({TypeId("a"): PIN})
    intents.remove(INTENT.id)
    assert intents.pending() == {}
    assert intents.read_confirmation(INTENT.id) is None


def test_an_intent_is_put_once(engine: Engine) -> None:
    engine.recovery.intents.arm(INTENT)
    engine.recovery.intents.arm(INTENT)
    with pytest.raises(StorageFault):
        engine.recovery.intents.arm(replace(INTENT, created_at_micros=18))


def test_every_heartbeat_differs_from_the_last(engine: Engine) -> None:
    beats = set()
    for _ in range(5):
        engine.recovery.intents.beat(INTENT.id)
        beats.add(engine.recovery.intents.heartbeat(INTENT.id))
    assert len(beats) == 5


# --- the audit -----------------------------------------------------------------------------------


def test_a_row_is_recorded_once_and_comes_back(engine: Engine) -> None:
    row = AuditRow(
        "op",
        RecoveryOutcome.ROLLED_BACK,
        1,
        "main",
        "load",
        "ada",
        ({"type_id": "t", "from": 1},),
        "n",
    )
    assert engine.recovery.audit.rows() == []
    engine.recovery.audit.record(row)
    engine.recovery.audit.record(replace(row, recovered_at_micros=2))
    assert engine.recovery.audit.rows() == [row]


def test_two_recoverers_at_once_both_get_their_rows_in(tmp_path: Path, engine: Engine) -> None:
    mine = AuditRow("mine", RecoveryOutcome.ROLLED_BACK, 1)
    theirs = AuditRow("theirs", RecoveryOutcome.ROLLED_FORWARD, 1)
    race = Interruption(
        "put_if_absent", lambda: engine.recovery.audit.record(theirs), prefix=layout.AUDIT
    )
    other = open_engine(tmp_path / "graph", wrap_objects=lambda objects: Between(objects, [race]))
    other.recovery.audit.record(mine)
    assert [row.operation_id for row in engine.recovery.audit.rows()] == ["mine", "theirs"]


PINS = {"a": {"path": PIN.path, "version": 3, "fingerprint": "f", "rows": 7}}


@pytest.mark.parametrize(
    "body",
    [PINS, {"format": 2, "hoped": PINS}],
    ids=["format 1", "format 2"],
)
def test_a_confirmation_of_any_format_is_read(body: dict[str, Any], engine: Engine) -> None:
    key = f"{layout.RECOVERY}/{INTENT.id}.confirmed.json"
    engine.root.objects.put(key, json.dumps(body).encode())
    found = engine.recovery.intents.read_confirmation(INTENT.id)
    assert found == Confirmation({TypeId("a"): PIN}, is_durable=True)


def test_of_two_confirmations_the_first_decides(engine: Engine) -> None:
    intents = engine.recovery.intents
    assert intents.confirm(INTENT.id, None)
    assert intents.confirm(INTENT.id, None), "the same again"
    assert not intents.confirm(INTENT.id, {TypeId("a"): PIN})
    assert intents.read_confirmation(INTENT.id) == Confirmation(None)
    intents.remove_confirmation(INTENT.id)
    assert intents.confirm(INTENT.id, {TypeId("a"): PIN})
    assert not intents.confirm(INTENT.id, None)


def test_an_owner_of_an_earlier_boot_shares_none() -> None:
    owner = current_owner()
    assert owner.shares_boot()
    for host in ("another-boot/pid:[1]", "another-machine", ""):
        assert not replace(owner, host=host).shares_boot()
