"""The codes of cluster diagnostics. Codes are added, never renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLUSTER_CODES"]

CLUSTER_CODES: Mapping[str, str] = {
    # The file.
    "config_dir_not_found": "the cluster directory does not exist",
    "cluster_config_read_error": "a file of the cluster cannot be read",
    "invalid_cluster_yaml": "cluster.yaml is not YAML, or a key is unknown or has a wrong type",
    "duplicate_yaml_key": "a mapping repeats a key",
    "future_phase_field": "the key is reserved for a later release",
    "removed_streaming_declaration": "graphs have no `streaming`",
    "unsupported_cluster_config_version": "`version` is not 1",
    "empty_metadata_name": "`metadata.name` is blank",
    "unsupported_state_backend": "`state.backend` is not `cluster`",
    "state_lock_disabled": "`state.lock: false` is ignored: every writing command takes the lock",
    "invalid_storage_root": "`storage` is no path, file:// or s3:// URI, or contains credentials",
    "invalid_resource_id": "the id of a graph, policy or provider is not valid",
    # Files of resources.
    "config_path_escape": "a path leaves the cluster directory",
    "config_path_symlink": "a path goes through a symbolic link",
    "schema_file_missing": "the schema file does not exist",
    "schema_parse_error": "the schema does not parse",
    "schema_catalog_error": "the schema is not valid",
    "query_file_missing": "a query file does not exist",
    "query_dir_unreadable": "a directory of queries cannot be read",
    "query_dir_empty": "a directory of queries contains no .gq file",
    "query_parse_error": "a query file does not parse",
    "query_key_mismatch": "the file does not contain the query that its key names",
    "duplicate_query_name": "two queries of a graph have the same name",
    "query_typecheck_error": "a query does not match the declared schema",
    "query_typecheck_skipped": "queries are not checked, because the schema is not valid",
    "policy_file_missing": "the policy file does not exist",
    "policy_invalid": "the policy is not a valid bundle",
    "policy_kind_mismatch": "the kind of the policy does not fit its `applies_to`",
    "policy_missing_applies_to": "a policy applies to nothing",
    "policy_mixed_binding_kinds": "a policy applies to the cluster and to graphs",
    "duplicate_policy_binding": "two policies apply to the same scope",
    "dangling_graph_reference": "a reference to a graph that is not declared",
    "dangling_embedding_provider_reference": "a reference to a provider that is not declared",
    "wrong_kind_reference": "a reference to a resource of another kind",
    "invalid_embedding_provider": "an embedding provider is not valid",
    "embedding_api_key_inline": "a secret is written into cluster.yaml",
    "embedding_api_key_required": "an embedding provider has no `api_key`",
    "invalid_external_blob_base": "the base of external blobs is not a valid URI prefix",
    "invalid_external_blob_policy": "the policy of external blobs is not valid",
}
