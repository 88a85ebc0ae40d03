"""Validation finds every problem of a cluster directory, with code, key path and position."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph.cluster
from omnigraph.cluster.codes import CLUSTER_CODES
from omnigraph.cluster.commands import Cluster
from omnigraph.errors import InvalidInput
from omnigraph.policy.reading import parse_bundle
from omnigraph.server.registry import parse_graph_id

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., tuple[int, dict[str, Any]]]

USER = "key:" + "secret@"
REPORTING = {"error", "warn", "refuse", "ClusterDiagnostic"}
GRAPH = "version: 1\ngraphs:\n  people:\n    schema: people.pg\n"
POLICY = "policies:\n  readers:\n    file: readers.yaml\n"
PROVIDER = "version: 1\nproviders:\n  embedding:\n    e:\n"


def validate(directory: Path) -> Any:
    return Cluster(directory).validate()


def codes_of(directory: Path) -> list[str]:
    return [each.code for each in validate(directory).diagnostics]


def test_a_valid_directory_lists_resources_digests_and_dependencies(call: Call) -> None:
    code, body = call("validate")
    assert (code, body["ok"], body["diagnostics"]) == (0, True, [])
    assert set(body["resource_digests"]) == {
        "graph.people",
        "schema.people",
        "query.people.ages",
        "query.people.people",
        "policy.readers",
    }
    # Queries of one file have the digest of that file.
    digests = body["resource_digests"]
    assert digests["query.people.ages"] == digests["query.people.people"]
    assert {"from": "query.people.ages", "to": "schema.people"} in body["dependencies"]
    assert {"from": "policy.readers", "to": "graph.people"} in body["dependencies"]


@pytest.mark.parametrize(
    ("text", "expected", "path"),
    [
        ("version: 1\nversion: 1\n", "duplicate_yaml_key", ""),
        ("version: 1\ncolour: red\n", "invalid_cluster_yaml", "colour"),
        ("version: 1\ngraphs: [a\n", "invalid_cluster_yaml", "cluster.yaml"),
        ("", "invalid_cluster_yaml", "cluster.yaml"),
        ("[]", "unsupported_cluster_config_version", ""),
        ("version: 1\ngraphs: &g {people: *g}\n", "invalid_cluster_yaml", "graphs.people.people"),
        ("version: 1\naliases: {}\n", "future_phase_field", "aliases"),
        ("version: 2\n", "unsupported_cluster_config_version", "version"),
        ('version: "1"\n', "unsupported_cluster_config_version", "version"),
        ("graphs: {}\n", "unsupported_cluster_config_version", ""),
        ('version: 1\nmetadata: {name: " "}\n', "empty_metadata_name", "metadata.name"),
        ("version: 1\nstate: {backend: s3}\n", "unsupported_state_backend", "state.backend"),
        ("version: 1\nstorage: s3://\n", "invalid_storage_root", "storage"),
        (f"version: 1\nstorage: s3://{USER}bucket\n", "invalid_storage_root", "storage"),
        ("version: 1\nstorage: ftp://host/x\n", "invalid_storage_root", "storage"),
        ("version: 1\ngraphs:\n  a.b: {schema: people.pg}\n", "invalid_resource_id", "graphs.a.b"),
        ("version: 1\ngraphs:\n  -a: {schema: people.pg}\n", "invalid_resource_id", "graphs.-a"),
        ("version: 1\ngraphs:\n  grün: {schema: people.pg}\n", "invalid_resource_id", None),
        ("version: 1\ngraphs:\n  healthz: {schema: people.pg}\n", "invalid_resource_id", None),
        ("version: 1\ngraphs:\n  1: {schema: people.pg}\n", "invalid_cluster_yaml", "graphs"),
        ("version: 1\ngraphs:\n  a: {}\n", "invalid_cluster_yaml", "graphs.a"),
        ("version: 1\ngraphs:\n  a: {schema: no.pg}\n", "schema_file_missing", "graphs.a.schema"),
        ("version: 1\ngraphs:\n  a: {schema: ../people.pg}\n", "config_path_escape", None),
        ("version: 1\ngraphs:\n  a: {schema: /etc/passwd}\n", "config_path_escape", None),
        (GRAPH + "    streaming: true\n", "removed_streaming_declaration", None),
        (GRAPH + "    queries: nowhere\n", "query_file_missing", "graphs.people.queries"),
        (GRAPH + "    queries: {x: {file: queries/people.gq}}\n", "query_key_mismatch", None),
        (GRAPH + "    queries: [queries, queries/people.gq]\n", "duplicate_query_name", None),
        (GRAPH + "    queries: [people.pg]\n", "query_parse_error", "graphs.people.queries[0]"),
        (
            GRAPH + "    embedding_provider: e\n",
            "dangling_embedding_provider_reference",
            "graphs.people",
        ),
        (GRAPH + "    embedding_provider: policy.e\n", "wrong_kind_reference", None),
        (GRAPH + POLICY, "policy_missing_applies_to", "policies.readers"),
        (GRAPH + POLICY + "    applies_to: [x]\n", "dangling_graph_reference", None),
        (GRAPH + POLICY + "    applies_to: [query.x]\n", "wrong_kind_reference", None),
        (
            GRAPH + POLICY + "    applies_to: [people, cluster]\n",
            "policy_mixed_binding_kinds",
            None,
        ),
        (GRAPH + POLICY + "    applies_to: [cluster]\n", "policy_kind_mismatch", None),
        (
            GRAPH + POLICY + "    applies_to: [people]\n  other:\n"
            "    file: readers.yaml\n    applies_to: [graph.people]\n",
            "duplicate_policy_binding",
            "policies.other",
        ),
        (
            GRAPH + "policies:\n  p: {file: people.pg, applies_to: [people]}\n",
            "policy_invalid",
            "policies.p",
        ),
        (
            GRAPH + "policies:\n  p: {file: none.yaml, applies_to: [people]}\n",
            "policy_file_missing",
            "policies.p",
        ),
        (PROVIDER + "      kind: openai\n", "embedding_api_key_required", None),
        (PROVIDER + "      api_key: sk-secret\n", "embedding_api_key_inline", None),
        (
            PROVIDER + "      kind: nobody\n      api_key: ${K}\n",
            "invalid_embedding_provider",
            None,
        ),
        (
            PROVIDER + f"      base_url: https://{USER}host\n" + "      api_key: ${K}\n",
            "invalid_embedding_provider",
            None,
        ),
        (
            GRAPH + "    external_blobs: {allow: [{base: 's3://b/../c', scope: server_safe}]}\n",
            "invalid_external_blob_base",
            None,
        ),
        (
            GRAPH + "    external_blobs: {allow: [{base: 'file:///x', scope: server_safe}]}\n",
            "invalid_external_blob_base",
            None,
        ),
        (
            GRAPH + "    external_blobs: {allow: [{base: 's3://b/c', scope: all}]}\n",
            "invalid_external_blob_policy",
            None,
        ),
        (
            GRAPH + "    external_blobs:\n      allow:\n"
            "        - {base: 's3://b/c', scope: server_safe}\n"
            "        - {base: 's3://b/c/d', scope: server_safe}\n",
            "invalid_external_blob_policy",
            None,
        ),
    ],
)
def test_a_bad_declaration_is_refused_with_its_code(
    cluster: Path, text: str, expected: str, path: str | None
) -> None:
    (cluster / "cluster.yaml").write_text(text, encoding="utf-8")
    result = validate(cluster)
    found = [each for each in result.diagnostics if each.code == expected]
    assert found, result.diagnostics
    assert not result.ok
    if path is not None:
        assert path in [each.path for each in found]
    assert "secret" not in str(result.to_json())
    assert all(each.line is not None or each.path == "cluster.yaml" for each in found)


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("people.pg", "node {", "schema_parse_error"),
        ("people.pg", "node A { x: Nothing }", "schema_parse_error"),
        ("people.pg", "edge E: A -> B\n", "schema_catalog_error"),
        ("queries/people.gq", "query {", "query_parse_error"),
        (
            "queries/people.gq",
            "query q() { match { $p: Ghost } return { $p } }",
            "query_typecheck_error",
        ),
        ("readers.yaml", "version: 9\nrules: []\n", "policy_invalid"),
    ],
)
def test_a_bad_file_is_reported_at_the_key_that_names_it(
    cluster: Path, file: str, text: str, expected: str
) -> None:
    (cluster / file).write_text(text)
    result = validate(cluster)
    assert expected in [each.code for each in result.diagnostics]
    assert not result.ok


def test_queries_are_not_checked_against_a_schema_that_is_not_valid(cluster: Path) -> None:
    (cluster / "people.pg").write_text("node {")
    assert codes_of(cluster) == ["schema_parse_error", "query_typecheck_skipped"]


def test_all_problems_are_found_in_one_run(cluster: Path) -> None:
    text = (cluster / "cluster.yaml").read_text()
    (cluster / "cluster.yaml").write_text(text + "colour: red\nui: {}\n")
    (cluster / "people.pg").write_text("node {")
    (cluster / "readers.yaml").unlink()
    assert set(codes_of(cluster)) == {
        "invalid_cluster_yaml",
        "future_phase_field",
        "schema_parse_error",
        "query_typecheck_skipped",
        "policy_file_missing",
    }


def test_an_unlocked_state_is_a_warning_only(cluster: Path) -> None:
    text = (cluster / "cluster.yaml").read_text()
    (cluster / "cluster.yaml").write_text(text + "state: {lock: false}\n")
    result = validate(cluster)
    assert [each.code for each in result.diagnostics] == ["state_lock_disabled"]
    assert result.ok


def test_an_empty_directory_of_queries_is_a_warning(cluster: Path) -> None:
    (cluster / "queries" / "people.gq").unlink()
    assert codes_of(cluster) == ["query_dir_empty"]


def test_symbolic_links_are_refused(cluster: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.pg"
    outside.write_text("node A { id: String @key }\n")
    (cluster / "people.pg").unlink()
    (cluster / "people.pg").symlink_to(outside)
    assert "config_path_symlink" in codes_of(cluster)


def test_a_missing_directory_and_a_missing_file_are_reported(tmp_path: Path) -> None:
    assert codes_of(tmp_path / "none") == ["config_dir_not_found"]
    assert codes_of(tmp_path) == ["cluster_config_read_error"]


def test_comments_and_layout_do_not_change_digests(cluster: Path) -> None:
    before = validate(cluster)
    text = (cluster / "cluster.yaml").read_text()
    (cluster / "cluster.yaml").write_text(
        "# a comment\n" + text.replace("{name: demo}", "\n  name: demo")
    )
    assert validate(cluster).to_json() == before.to_json()


def test_a_query_changes_the_digest_of_its_graph_and_not_of_its_schema(cluster: Path) -> None:
    before = validate(cluster).fields["resource_digests"]
    path = cluster / "queries" / "people.gq"
    path.write_text(path.read_text() + "\n")
    after = validate(cluster).fields["resource_digests"]
    changed = {address for address in after if after[address] != before[address]}
    assert changed == {"graph.people", "query.people.ages", "query.people.people"}


def test_a_declared_kind_of_a_policy_must_fit_its_scope(cluster: Path) -> None:
    text = (cluster / "readers.yaml").read_text()
    (cluster / "readers.yaml").write_text("kind: graph\n" + text)
    assert codes_of(cluster) == []
    (cluster / "readers.yaml").write_text("kind: server\nversion: 1\nrules: []\n")
    assert codes_of(cluster) == ["policy_kind_mismatch"]
    with pytest.raises(InvalidInput):
        parse_bundle("kind: server\n" + text)


def test_clusters_and_servers_have_one_rule_for_ids(cluster: Path) -> None:
    for name in ("people_2", "_x", "a-b", "9", "x" * 64):
        assert parse_graph_id(name) == name
        (cluster / "cluster.yaml").write_text(
            f'version: 1\ngraphs:\n  "{name}": {{schema: people.pg}}\n'
        )
        assert codes_of(cluster) == []
    for name in ("x" * 65, "a.b", "-a", "graphs", "é"):
        with pytest.raises(InvalidInput):
            parse_graph_id(name)


def test_every_reported_code_is_in_the_catalog(cluster: Path) -> None:
    (cluster / "cluster.yaml").write_text("version: 3\nui: {}\nx: 1\nstate: {lock: no}\n")
    assert set(codes_of(cluster)) <= set(CLUSTER_CODES)


def test_every_code_of_the_package_is_in_the_catalog() -> None:
    package = Path(omnigraph.cluster.__file__).parent
    used = {
        str(call.args[0].value)
        for path in package.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", getattr(call.func, "attr", "")) in REPORTING
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }
    assert len(used) > 60
    assert used <= set(CLUSTER_CODES), used - set(CLUSTER_CODES)
