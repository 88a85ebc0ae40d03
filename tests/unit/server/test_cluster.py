"""A server that starts from the ledger of a cluster."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import omnigraph
from omnigraph.cluster.commands import Cluster
from omnigraph.cluster.root import open_root
from omnigraph.errors import GraphError
from omnigraph.server.serve import ServeRequest, make_server, serving
from omnigraph.testing.example_cluster import CONFIG, write_cluster

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"ada": "token-of-ada-1234"}'}
ADA = {"authorization": "Bearer token-of-ada-1234"}
LISTING = """\
version: 1
kind: server
rules:
  - id: everyone-lists
    allow: {actors: {group: everyone}, actions: [graph_list]}
"""
READS = """\
version: 1
kind: graph
rules:
  - id: everyone-reads
    allow: {actors: {group: everyone}, actions: [read, invoke_query]}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Two graphs, one with queries and a policy, and a policy of the server."""
    directory = tmp_path / "cluster"
    write_cluster(directory)
    (directory / "readers.yaml").write_text(READS)
    (directory / "listing.yaml").write_text(LISTING)
    more = "  listing: {file: listing.yaml, applies_to: [cluster]}\n"
    text = CONFIG.replace("policies:", "  plain_2: {schema: people.pg}\npolicies:") + more
    (directory / "cluster.yaml").write_text(text)
    assert Cluster(directory).apply(actor="ada").fields["converged"]
    with omnigraph.open(directory / "graphs" / "people.omni") as graph:
        graph.mutate('query a() { insert Person { name: "Ada" } }')
    return directory


def start(location: Path | str, **options: Any) -> Any:
    return serving(make_server(ServeRequest([], cluster=str(location), **options), TOKENS))


def names(url: str) -> list[str]:
    body = httpx.get(f"{url}/graphs", headers=ADA).json()
    return [each["graph_id"] for each in body["graphs"]]


def test_graphs_queries_and_policies_come_from_the_ledger(cluster: Path) -> None:
    # Neither an undeployed change nor a held lock matters.
    (cluster / "queries" / "people.gq").write_text("query other() {")
    (cluster / "cluster.yaml").write_text("version: 1\n")
    with open_root(cluster, None).lock.held("test"), start(cluster) as url:
        assert names(url) == ["people", "plain_2"]
        found = httpx.post(f"{url}/graphs/people/queries/people", json={}, headers=ADA)
        assert found.json()["rows"] == [{"p.name": "Ada"}], found.text
        text = 'query a() { insert Person { name: "Bo" } }'
        for graph in ("people", "plain_2"):
            body = {"query": text}
            denied = httpx.post(f"{url}/graphs/{graph}/mutate", json=body, headers=ADA)
            assert denied.status_code == 403, denied.text


def test_a_storage_root_is_enough(cluster: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(cluster / "__cluster", root / "__cluster")
    shutil.copytree(cluster / "graphs", root / "graphs")
    with start(root) as url:
        assert names(url) == ["people", "plain_2"]


def test_a_graph_that_does_not_open_is_quarantined(cluster: Path) -> None:
    shutil.rmtree(cluster / "graphs" / "plain_2.omni")
    with start(cluster) as url:
        assert names(url) == ["people"]
    with pytest.raises(GraphError) as refused:
        start(cluster, require_all_graphs=True)
    assert refused.value.code == "graph.missing"


def test_a_graph_with_an_unfinished_apply_is_quarantined(cluster: Path) -> None:
    open_root(cluster, None).intents.announce("schema_apply", "plain_2", schema_digest="x")
    with start(cluster) as url:
        assert names(url) == ["people"]
    assert Cluster(cluster).apply().fields["converged"]
    with start(cluster) as url:
        assert names(url) == ["people", "plain_2"]


def code_of(location: Path, **options: Any) -> str:
    with pytest.raises(GraphError) as refused:
        make_server(ServeRequest([], cluster=str(location), **options), TOKENS)
    return refused.value.code


def test_faults_of_the_whole_cluster_prevent_the_start(cluster: Path, tmp_path: Path) -> None:
    assert code_of(tmp_path / "nowhere") == "cluster.state_missing"
    assert code_of(cluster, policy="preset:team") == "serve.cluster_alone"
    (payload,) = (cluster / "__cluster/resources/policy/readers").iterdir()
    text = payload.read_text()
    payload.write_text(text.replace("read", "change"))
    assert code_of(cluster) == "cluster.payload_damaged"
    payload.write_text(text)
    ledger = cluster / "__cluster" / "state" / "00000001.json"
    ledger.write_text(ledger.read_text().replace("people", "others"))
    assert code_of(cluster) == "cluster.invalid_state_json"
