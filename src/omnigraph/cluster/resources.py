"""Resources of a cluster: addresses, digests, dependencies.

The digest of a graph covers its schema, queries, provider and blob rules. It is computed from the
entries of a ledger alone, so that a ledger can be checked without the declaration.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "DesiredState",
    "Resource",
    "blast_radius",
    "canonical_json",
    "dependencies_of",
    "digest_of",
    "graph_address",
    "graph_digest",
    "graph_of",
    "kind_of",
    "policy_address",
    "provider_address",
    "query_address",
    "schema_address",
]

_PROVIDER = "provider.embedding."


@frozen
class Resource:
    """A declared resource. ``entry`` is its form in the ledger, ``body`` its file."""

    address: str
    entry: dict[str, Any]
    path: str | None = None
    body: bytes | None = None

    @property
    def digest(self) -> str:
        return str(self.entry["digest"])

    def to_json(self) -> dict[str, Any]:
        body = {"address": self.address, "kind": kind_of(self.address), "digest": self.digest}
        return body if self.path is None else {**body, "path": self.path}


@frozen
class DesiredState:
    """All declared resources by address, and the digest of the declaration."""

    resources: Mapping[str, Resource]
    config_digest: str
    storage: str | None

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        return {address: each.entry for address, each in self.resources.items()}

    @property
    def digests(self) -> dict[str, str]:
        return {address: each.digest for address, each in sorted(self.resources.items())}

    @property
    def graph_ids(self) -> list[str]:
        return sorted(graph_of(a) or "" for a in self.resources if kind_of(a) == "graph")


def graph_address(graph: str) -> str:
    return f"graph.{graph}"


def schema_address(graph: str) -> str:
    return f"schema.{graph}"


def query_address(graph: str, name: str) -> str:
    return f"query.{graph}.{name}"


def policy_address(name: str) -> str:
    return f"policy.{name}"


def provider_address(name: str) -> str:
    return f"{_PROVIDER}{name}"


def kind_of(address: str) -> str:
    """Return ``graph``, ``schema``, ``query``, ``policy`` or ``provider``."""
    return address.partition(".")[0]


def graph_of(address: str) -> str | None:
    """Return the graph that an address belongs to, if it belongs to one."""
    kind, *rest = address.split(".")
    return rest[0] if kind in {"graph", "schema", "query"} and rest else None


def canonical_json(value: Any) -> bytes:
    """Serialise a value so that equal values have equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def graph_digest(graph: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the composite digest of a graph from the entries of its parts."""
    own = entries.get(graph_address(graph), {})
    prefix = query_address(graph, "")
    parts: dict[str, Any] = {
        "id": graph,
        "schema": entries.get(schema_address(graph), {}).get("digest"),
        "queries": sorted(
            [address.removeprefix(prefix), entry["digest"]]
            for address, entry in entries.items()
            if address.startswith(prefix)
        ),
    }
    provider = own.get("embedding_provider")
    if provider is not None:
        parts["provider"] = [provider, entries.get(provider, {}).get("digest")]
    if own.get("external_blob_policy"):
        parts["external_blob_policy"] = own["external_blob_policy"]
    return digest_of(canonical_json(parts))


def dependencies_of(entries: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the pairs of a resource and one that it needs."""
    found: set[tuple[str, str]] = set()
    for address, entry in entries.items():
        graph = graph_of(address)
        match kind_of(address):
            case "query" if graph is not None:
                found |= {(address, schema_address(graph)), (address, graph_address(graph))}
            case "schema" if graph is not None:
                found.add((graph_address(graph), address))
            case "policy":
                found |= {(address, scope) for scope in entry.get("applies_to", ())}
            case "graph" if entry.get("embedding_provider"):
                found.add((address, entry["embedding_provider"]))
            case _:
                pass
    return sorted(pair for pair in found if pair[1] in entries)


def blast_radius(address: str, dependencies: Iterable[tuple[str, str]]) -> list[str]:
    """Return everything that depends on a resource, directly or not."""
    needed_by: dict[str, list[str]] = {}
    for source, target in dependencies:
        needed_by.setdefault(target, []).append(source)
    found: set[str] = set()
    waiting = [address]
    while waiting:
        for each in needed_by.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return sorted(found - {address})
