"""Plan, apply, approve, refresh and import on a real directory."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.cli.program import run
from omnigraph.cluster.ledger import Ledger, LedgerStore
from omnigraph.cluster.lock import ClusterLock
from omnigraph.cluster.reporting import ClusterRefusal
from omnigraph.errors import GraphError, NotFound
from omnigraph.graph.open import open_store
from omnigraph.testing.example_cluster import POLICY, QUERIES, SCHEMA, WIDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., tuple[int, dict[str, Any]]]

ADD = 'query a() { insert Person { name: "Ada" } }'


def changes_of(body: dict[str, Any]) -> dict[str, tuple[str, str, str | None]]:
    return {
        each["resource"]: (each["operation"], each["disposition"], each.get("reason"))
        for each in body["changes"]
    }


def codes_of(body: dict[str, Any]) -> list[str]:
    return [each["code"] for each in body["diagnostics"]]


def graph_uri(cluster: Path, graph: str = "people") -> Path:
    return cluster / "graphs" / f"{graph}.omni"


def declare(cluster: Path, text: str) -> None:
    (cluster / "cluster.yaml").write_text(text)


@pytest.fixture
def applied(cluster: Path, call: Call) -> Path:
    code, body = call("apply", "--as", "ada")
    assert (code, body["converged"]) == (0, True), body
    return cluster


def files_of(cluster: Path) -> set[str]:
    return {str(path.relative_to(cluster)) for path in cluster.rglob("*") if path.is_file()}


# --- plan and apply ----------------------------------------------------------------------------


def test_a_plan_lists_creations_and_writes_nothing(cluster: Path, call: Call) -> None:
    before = files_of(cluster)
    code, body = call("plan")
    assert code == 0
    assert changes_of(body) == dict.fromkeys(
        [
            "graph.people",
            "policy.readers",
            "query.people.ages",
            "query.people.people",
            "schema.people",
        ],
        ("create", "applied", None),
    )
    assert body["state_observations"]["state_found"] is False
    assert files_of(cluster) == before


def test_an_apply_converges_and_a_second_one_writes_nothing(applied: Path, call: Call) -> None:
    with omnigraph.open(graph_uri(applied)) as graph:
        assert [node.name for node in graph.catalog.nodes] == ["Person"]
        assert graph.commits.list().commits[-1].actor == "ada"
    _, body = call("apply")
    assert (body["converged"], body["state_written"], body["applied_count"]) == (True, False, 0)
    assert body["state_observations"]["state_revision"] == 1
    _, planned = call("plan")
    assert planned["changes"] == []


def test_a_schema_change_is_planned_with_its_steps_and_keeps_data(
    applied: Path, call: Call
) -> None:
    with omnigraph.open(graph_uri(applied)) as graph:
        graph.mutate(ADD)
    (applied / "people.pg").write_text(WIDER)
    _, body = call("plan")
    changes = {each["resource"]: each for each in body["changes"]}
    (step,) = changes["schema.people"]["migration"]["steps"]
    assert (step["kind"], step["property_name"]) == ("add_property", "city")
    assert changes["graph.people"]["disposition"] == "derived"
    (radius,) = [each for each in body["blast_radius"] if each["resource"] == "schema.people"]
    assert "query.people.ages" in radius["affected"]
    _, done = call("apply")
    assert done["converged"]
    with omnigraph.open(graph_uri(applied)) as graph:
        assert graph.query("query q() { match { $p: Person } return { $p.city } }").to_json()[
            "rows"
        ] == [{"p.city": None}]


def test_an_unsupported_schema_change_blocks_what_depends_on_it(applied: Path, call: Call) -> None:
    (applied / "people.pg").write_text(SCHEMA.replace("age: I32?", "age: [String]"))
    (applied / "queries" / "people.gq").write_text(QUERIES + "\n")
    code, body = call("apply")
    assert code == 0
    changes = changes_of(body)
    assert changes["schema.people"] == ("update", "blocked", "apply_unsupported_change")
    assert changes["query.people.ages"] == ("update", "blocked", "dependency_not_applied")
    assert changes["graph.people"][1] == "blocked"
    assert (body["converged"], body["applied_count"]) == (False, 0)
    assert body["resource_statuses"]["schema.people"]["status"] == "blocked"
    # The way back is to declare the old schema again.
    (applied / "people.pg").write_text(SCHEMA)
    (applied / "queries" / "people.gq").write_text(QUERIES)
    assert call("apply")[1]["converged"]


def test_data_that_violates_a_new_schema_leaves_the_graph_as_it_was(
    applied: Path, call: Call
) -> None:
    with omnigraph.open(graph_uri(applied)) as graph:
        graph.mutate(ADD)
    (applied / "people.pg").write_text(SCHEMA.replace("age: I32?", "age: I32"))
    code, body = call("apply")
    assert code == 1
    assert "schema_apply_failed" in codes_of(body)
    assert not list((applied / "__cluster" / "recoveries").glob("*"))
    with omnigraph.open(graph_uri(applied)) as graph:
        assert "age: I32?" in graph.schema


def test_queries_and_policies_are_updated_and_removed(applied: Path, call: Call) -> None:
    (applied / "queries" / "people.gq").write_text(QUERIES.splitlines()[0] + "\n")
    declare(applied, (applied / "cluster.yaml").read_text().partition("policies:")[0])
    _, body = call("apply")
    assert changes_of(body) == {
        "graph.people": ("update", "derived", None),
        "policy.readers": ("delete", "applied", None),
        "query.people.ages": ("delete", "applied", None),
        "query.people.people": ("update", "applied", None),
    }
    assert body["converged"]


def test_a_binding_of_a_policy_can_change_without_its_file(applied: Path, call: Call) -> None:
    text = (applied / "cluster.yaml").read_text()
    more = text.replace("policies:", "  other: {schema: people.pg}\npolicies:")
    declare(applied, more.replace("[people]", "[people, other]"))
    _, body = call("apply")
    (change,) = [each for each in body["changes"] if each["resource"] == "policy.readers"]
    assert (change["binding_change"], change["metadata_change"]) == (True, "policy_bindings")
    assert change["before_digest"] == change["after_digest"]
    assert body["converged"]


def test_a_failed_graph_leaves_earlier_ones_applied(cluster: Path, call: Call) -> None:
    text = (cluster / "cluster.yaml").read_text()
    declare(cluster, text.replace("policies:", "  zoo: {schema: people.pg}\npolicies:"))
    (cluster / "graphs").mkdir()
    (cluster / "graphs" / "zoo.omni").write_text("a file")
    code, body = call("apply")
    assert (code, body["converged"]) == (0, False)
    assert body["resource_statuses"]["graph.zoo"]["status"] == "blocked"
    assert body["resource_statuses"]["graph.people"]["status"] == "applied"
    (cluster / "graphs" / "zoo.omni").unlink()
    assert call("apply")[1]["converged"]


# --- saved plans -------------------------------------------------------------------------------


def test_a_saved_plan_is_applied_as_it_was_reviewed(
    cluster: Path, call: Call, tmp_path: Path
) -> None:
    call("plan", "--out", str(tmp_path / "p.json"))
    code, body = call("apply", "--plan", str(tmp_path / "p.json"))
    assert (code, body["converged"]) == (0, True)


def test_a_saved_plan_is_refused_when_anything_moved(
    applied: Path, call: Call, tmp_path: Path
) -> None:
    saved = str(tmp_path / "p.json")
    (applied / "people.pg").write_text(WIDER)
    call("plan", "--out", saved)
    (applied / "people.pg").write_text(WIDER.replace("city", "town"))
    before = files_of(applied)
    code, body = call("apply", "--plan", saved)
    assert (code, codes_of(body)) == (1, ["plan_stale"])
    moved = files_of(applied) - before
    assert all(name.startswith("__cluster/lock/") for name in moved)
    (applied / "people.pg").write_text(WIDER)
    assert call("apply")[1]["converged"]
    assert codes_of(call("apply", "--plan", saved)[1]) == ["plan_stale"]
    (tmp_path / "p.json").write_text("{}")
    assert call("apply", "--plan", saved)[1]["code"] == "cluster.bad_plan"


# --- deletion ----------------------------------------------------------------------------------


def without_graph(applied: Path) -> None:
    declare(applied, "version: 1\nmetadata: {name: demo}\n")


def test_a_deletion_needs_an_approval_and_is_reversible(applied: Path, call: Call) -> None:
    text = (applied / "cluster.yaml").read_text()
    with omnigraph.open(graph_uri(applied)) as graph:
        graph.mutate(ADD)
    without_graph(applied)
    _, body = call("apply")
    assert changes_of(body)["graph.people"] == ("delete", "blocked", "approval_required")
    assert changes_of(body)["query.people.ages"] == ("delete", "blocked", "approval_required")
    assert body["approvals_required"][0]["satisfied"] is False
    omnigraph.open(graph_uri(applied)).close()

    code, approved = call("approve", "graph.people", "--as", "eve")
    assert (code, approved["approved_by"]) == (0, "eve")
    assert call("plan")[1]["approvals_required"][0]["satisfied"] is True
    _, body = call("apply", "--as", "ada")
    assert body["converged"]
    assert (graph_uri(applied) / "_deleted.json").exists()
    for read_only in (True, False):
        with pytest.raises(NotFound) as refused:
            omnigraph.open(graph_uri(applied), read_only=read_only)
        assert refused.value.code == "graph.deleted"
    with pytest.raises(NotFound) as refused:
        omnigraph.init(graph_uri(applied), SCHEMA, force=True)
    assert refused.value.code == "graph.deleted"
    record = call("status")[1]["observations"]["graph.people"]
    assert (record["kind"], record["approval_id"]) == ("tombstone", approved["approval_id"])

    # The id stays blocked, and an approval is consumed.
    declare(applied, text)
    assert changes_of(call("apply")[1])["graph.people"][1:] == ("blocked", "graph_deleted")
    assert call("undelete", "graph.people")[0] == 0
    assert call("apply")[1]["converged"]
    with omnigraph.open(graph_uri(applied)) as graph:
        assert len(graph.nodes("Person")) == 1
    without_graph(applied)
    assert changes_of(call("apply")[1])["graph.people"][2] == "approval_required"


def test_an_approval_is_stale_after_any_change(applied: Path, call: Call) -> None:
    without_graph(applied)
    call("approve", "graph.people", "--as", "eve")
    declare(applied, "version: 1\nmetadata: {name: other}\n")
    _, body = call("plan")
    assert "approval_stale" in codes_of(body)
    assert changes_of(body)["graph.people"][2] == "approval_required"


def test_only_deletions_of_applied_graphs_are_approved(applied: Path, call: Call) -> None:
    for resource in ("graph.people", "graph.none", "schema.people"):
        code, body = call("approve", resource, "--as", "eve")
        assert (code, codes_of(body)) == (1, ["approval_not_required"])
    assert call("approve", "graph.people")[1]["code"] == "usage.no_actor"


def test_a_writer_of_a_deleted_graph_is_refused(applied: Path, call: Call) -> None:
    with omnigraph.open(graph_uri(applied)) as graph:
        without_graph(applied)
        call("approve", "graph.people", "--as", "eve")
        call("apply")
        with pytest.raises(GraphError):
            graph.mutate(ADD)


# --- drift -------------------------------------------------------------------------------------


def test_a_vanished_graph_is_blocked_and_never_made_anew_silently(
    applied: Path, call: Call
) -> None:
    shutil.rmtree(graph_uri(applied))
    _, body = call("apply")
    assert changes_of(body)["graph.people"] == ("create", "blocked", "graph_missing")
    assert not graph_uri(applied).exists()
    _, seen = call("refresh")
    assert seen["resource_statuses"]["graph.people"]["conditions"] == ["graph_missing"]
    assert call("apply", "--recreate-empty")[1]["converged"]
    assert graph_uri(applied).exists()


def test_a_schema_changed_by_hand_is_drift_and_is_migrated_back(applied: Path, call: Call) -> None:
    with omnigraph.open(graph_uri(applied)) as graph:
        graph.apply_schema(WIDER)
    for verb in ("observe", "refresh"):
        _, body = call(verb)
        assert body["resource_statuses"]["schema.people"]["conditions"] == ["schema_mismatch"]
        assert body["observations"]["graph.people"]["schema_matches_desired"] is False
    _, body = call("apply")
    assert changes_of(body)["schema.people"][:2] == ("update", "applied")
    with omnigraph.open(graph_uri(applied)) as graph:
        assert "city" not in graph.schema


def payload_of(applied: Path, address: str) -> Path:
    (found,) = (applied / "__cluster" / "resources" / address.replace(".", "/")).iterdir()
    return found


def test_damaged_payloads_are_found_and_written_again(applied: Path, call: Call) -> None:
    payload_of(applied, "query.people.ages").write_text("query evil() {}")
    payload_of(applied, "policy.readers").unlink()
    code, body = call("status")
    assert code == 1
    assert set(codes_of(body)) == {"catalog_payload_mismatch", "catalog_payload_missing"}
    assert call("apply")[1]["converged"]
    assert payload_of(applied, "query.people.ages").read_text() == QUERIES
    assert payload_of(applied, "policy.readers").read_text() == POLICY
    assert call("status")[0] == 0


def test_a_lost_ledger_is_rebuilt_by_import(applied: Path, call: Call) -> None:
    shutil.rmtree(applied / "__cluster" / "state")
    code, body = call("apply")
    assert (code, codes_of(body)) == (1, ["state_missing"])
    assert call("refresh")[1]["diagnostics"][0]["code"] == "state_missing"
    code, body = call("import")
    assert (code, body["state_observations"]["state_revision"]) == (0, 1)
    assert codes_of(call("import")[1]) == ["state_already_exists"]
    _, body = call("apply")
    assert body["converged"]
    assert "schema.people" not in changes_of(body)


def test_a_ledger_edited_by_hand_is_refused(applied: Path, call: Call) -> None:
    path = applied / "__cluster" / "state" / "00000001.json"
    text = path.read_text()
    for damaged in (
        text.replace('"status": "applied"', '"status": "drifted"', 1),
        text[:100],
        "[]",
    ):
        path.write_text(damaged)
        for verb in ("plan", "apply", "status", "refresh"):
            code, body = call(verb)
            assert (code, codes_of(body)) == (1, ["invalid_state_json"])
    body = json.loads(text)
    path.write_text(json.dumps({**body, "version": 9}))
    assert codes_of(call("plan")[1]) == ["unsupported_state_version"]
    path.write_text(text)
    assert call("plan")[0] == 0


def test_init_and_schema_apply_refuse_graphs_of_a_cluster(
    applied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = ("--schema", str(applied / "people.pg"))
    monkeypatch.chdir(applied)
    for words in (
        ("init", str(graph_uri(applied, "new")), *schema),
        ("init", "graphs/new.omni", *schema),
        ("init", "./graphs/new.omni", *schema),
        ("schema", "apply", str(graph_uri(applied)), *schema),
    ):
        capsys.readouterr()
        assert run([*words, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["code"] == "cluster.managed_graph"
    assert not graph_uri(applied, "new").exists()
    assert run(["schema", "apply", str(graph_uri(applied)), *schema, "--dry-run"]) == 0


# --- ledger and lock ---------------------------------------------------------------------------


def test_a_second_writer_of_a_revision_is_refused(tmp_path: Path) -> None:
    store = LedgerStore(open_store(tmp_path))
    first = store.write(Ledger({"policy.a": {"digest": "1"}}), base=0)
    with pytest.raises(ClusterRefusal) as refused:
        store.write(Ledger({"policy.a": {"digest": "1"}}), base=0)
    assert refused.value.diagnostic.code == "state_cas_mismatch"
    found = store.read()
    assert found is not None
    assert (found.number, found.ledger, found.cas) == (1, first.ledger, first.cas)


def test_a_held_lock_refuses_writers_and_no_readers(applied: Path, call: Call) -> None:
    lock = ClusterLock(open_store(applied))
    with lock.held("test") as held:
        for verb in ("apply", "refresh", "import"):
            assert codes_of(call(verb)[1]) == ["state_lock_held"]
        for verb in ("plan", "status", "observe"):
            code, body = call(verb)
            assert code == 0
            assert body["state_observations"]["lock_id"] == held.info.lock_id
            assert body["state_observations"]["locked"] is True
        assert codes_of(call("force-unlock", "other")[1]) == ["state_lock_id_mismatch"]
        assert call("force-unlock", held.info.lock_id)[1]["lock_removed"] is True
        with pytest.raises(ClusterRefusal):
            held.require()
    assert codes_of(call("force-unlock", "x")[1]) == ["state_lock_missing"]
    assert call("apply")[0] == 0


def test_fencing_numbers_increase_and_old_locks_are_removed(tmp_path: Path) -> None:
    lock = ClusterLock(open_store(tmp_path))
    seen = []
    for _ in range(5):
        with lock.held("test") as held:
            seen.append(held.fence)
    assert seen == [1, 2, 3, 4, 5]
    assert len(list((tmp_path / "__cluster" / "lock").iterdir())) <= 6
