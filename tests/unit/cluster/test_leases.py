"""The lock ends with its holder, also on another machine, and fences a paused one off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from omnigraph.cluster import lock as locks
from omnigraph.cluster.ledger import Ledger, LedgerStore
from omnigraph.cluster.lock import ClusterLock, HeldLock
from omnigraph.cluster.reporting import ClusterRefusal, Report
from omnigraph.cluster.root import ClusterRoot
from omnigraph.cluster.working_ledger import WorkingLedger
from omnigraph.graph.open import open_store
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.ports.objects import ObjectStore


def put_foreign_lock(store: ObjectStore, *, beat_age_seconds: float) -> None:
    """A lock of a process on another machine."""
    now = SYSTEM_CLOCK.now_micros()
    owner = {"host": "elsewhere", "pid": 7, "started": "1", "nonce": "n"}
    body = {
        "version": 1,
        "lock_id": "L1",
        "operation": "cluster apply",
        "created_at_micros": now,
        "owner": owner,
        "actor": "bob",
    }
    beat = {"at_micros": now - int(beat_age_seconds * 1_000_000), "nonce": "b"}
    store.put("__cluster/lock/00000001.json", json.dumps(body).encode())
    store.put("__cluster/lock/00000001.beat", json.dumps(beat).encode())


def test_a_lock_of_another_machine_is_respected_while_its_heart_beats(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put_foreign_lock(store, beat_age_seconds=1)
    with pytest.raises(ClusterRefusal) as refused, ClusterLock(store).held("test"):
        pass
    assert refused.value.diagnostic.code == "state_lock_held"
    assert "bob" in refused.value.diagnostic.message


def test_a_silent_lock_of_another_machine_is_taken_over_after_a_term(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "TERM_SECONDS", 0.5)
    store = open_store(tmp_path)
    put_foreign_lock(store, beat_age_seconds=60)
    with ClusterLock(store).held("test") as held:
        assert (held.fence, held.took_over) == (2, True)


def test_a_paused_holder_cannot_write_after_a_takeover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    root = ClusterRoot(str(tmp_path), store, None)
    base = LedgerStore(store).write(Ledger({"policy.a": {"digest": "1"}}), base=0)
    with root.lock.held("paused") as paused:
        working = WorkingLedger.open(root, base, paused)
        working.entries["policy.b"] = {"digest": "2"}
        # Another process finds the first one dead.
        monkeypatch.setattr(ClusterLock, "_is_dead", lambda *_: True)
        with root.lock.held("second") as second:
            fenced = WorkingLedger.open(root, base, second)
            assert fenced.base.number == base.number + 1
        with pytest.raises(ClusterRefusal) as refused:
            working.commit(root, Report())
        assert refused.value.diagnostic.code == "state_lock_id_mismatch"
        # The swap decides even if the pause begins after the check.
        monkeypatch.setattr(HeldLock, "require", lambda _: None)
        with pytest.raises(ClusterRefusal) as lost:
            working.commit(root, Report())
        assert lost.value.diagnostic.code == "state_cas_mismatch"
    found = root.ledger.read()
    assert found is not None
    assert "policy.b" not in found.ledger.entries


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_state_lock"),
        (b'{"version": 9}', "unsupported_state_lock_version"),
        (b'{"version": 1, "lock_id": "x"}', "invalid_state_lock"),
    ],
)
def test_a_damaged_lock_is_reported(tmp_path: Path, body: bytes, code: str) -> None:
    store = open_store(tmp_path)
    store.put("__cluster/lock/00000003.json", body)
    with pytest.raises(ClusterRefusal) as refused, ClusterLock(store).held("test"):
        pass
    assert refused.value.diagnostic.code == code
