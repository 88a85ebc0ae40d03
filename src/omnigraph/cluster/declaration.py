"""The parsed ``cluster.yaml``: what it declares, before any other file is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from omnigraph.api.names import GRAPH_ID_RULE, is_graph_id
from omnigraph.cluster.yaml_nodes import YamlNode, parse_nodes
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.cluster.reporting import Report

__all__ = [
    "BlobRule",
    "Declaration",
    "DeclaredGraph",
    "DeclaredPolicy",
    "DeclaredProvider",
    "QuerySource",
    "parse_declaration",
]

_RESERVED = dict.fromkeys(
    ("apply", "env_file", "pipelines", "embeddings", "ui", "aliases", "bindings"),
    "future_phase_field",
)
_SECRET = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_KINDS = ("openai-compatible", "openai", "gemini", "mock")
_PROVIDER = "provider.embedding."
_GRAPH = "graph."
_SCOPES = ("server_safe", "embedded_only")


@frozen
class QuerySource:
    """A file or directory of queries; ``name`` selects the query of a file, if given."""

    path: str
    node: YamlNode
    name: str | None = None


@frozen
class BlobRule:
    """A prefix below which blobs may lie outside of the graph."""

    base: str
    scope: str


@frozen
class DeclaredGraph:
    """A graph: its schema, queries and provider."""

    id: str
    node: YamlNode
    schema: str | None
    schema_node: YamlNode
    queries: tuple[QuerySource, ...] = ()
    provider: str | None = None
    blobs: tuple[BlobRule, ...] = ()


@frozen
class DeclaredPolicy:
    """A policy and the scopes it applies to: ``cluster`` or ``graph.<id>``."""

    name: str
    node: YamlNode
    file: str | None
    applies_to: tuple[str, ...] = ()


@frozen
class DeclaredProvider:
    """An embedding provider. ``api_key`` is the name of a variable, never a secret."""

    name: str
    profile: dict[str, Any]


@frozen
class Declaration:
    """The content of ``cluster.yaml``."""

    name: str | None = None
    storage: str | None = None
    graphs: tuple[DeclaredGraph, ...] = ()
    policies: tuple[DeclaredPolicy, ...] = ()
    providers: tuple[DeclaredProvider, ...] = ()

    @property
    def graph_ids(self) -> frozenset[str]:
        return frozenset(graph.id for graph in self.graphs)


def parse_declaration(text: str, file: str, report: Report) -> Declaration | None:
    """Parse ``cluster.yaml``; every problem goes into the report."""
    root = parse_nodes(text, file, report)
    if root is None:
        return None
    fields = root.fields(
        ("version", "metadata", "storage", "state", "providers", "graphs", "policies"),
        reserved=_RESERVED,
    )
    _require_version(root, fields.get("version"))
    providers = tuple(_providers(fields.get("providers")))
    graphs = tuple(_graphs(fields.get("graphs")))
    _require_providers(graphs, {provider.name for provider in providers})
    _check_state(fields.get("state"))
    return Declaration(
        _name(fields.get("metadata")),
        _storage(fields.get("storage")),
        graphs,
        tuple(_policies(fields.get("policies"), {graph.id for graph in graphs})),
        providers,
    )


def _require_version(root: YamlNode, node: YamlNode | None) -> None:
    if node is None or not node.is_number(1):
        (node or root).error(
            "unsupported_cluster_config_version",
            "`version` must be 1",
            remedy="write `version: 1`; this release supports no other",
        )


def _name(node: YamlNode | None) -> str | None:
    found = node.fields(("name",)).get("name") if node else None
    text = found.text() if found else None
    if found is not None and text is not None and not text.strip():
        found.error("empty_metadata_name", "`metadata.name` is blank", remedy="remove it")
    return text


def _storage(node: YamlNode | None) -> str | None:
    text = node.text() if node else None
    if node is None or text is None:
        return None
    problem = _storage_problem(text)
    if problem:
        node.error(
            "invalid_storage_root",
            f"`storage` {problem}",
            remedy="a path, file:///path or s3://bucket/prefix; credentials belong in AWS_*",
        )
        return None
    return text.rstrip("/") or "/"


def _storage_problem(text: str) -> str | None:
    scheme, mark, rest = text.partition("://")
    if not text.strip() or not text.isprintable():
        return "is empty or contains a control character"
    if not mark:
        return None
    if "@" in rest or "?" in rest or "#" in rest:
        return "contains credentials, a query or a fragment"
    if scheme == "s3":
        return None if rest.partition("/")[0] else "names no bucket"
    return None if scheme == "file" else f"has the unsupported scheme {scheme!r}"


def _check_state(node: YamlNode | None) -> None:
    if node is None:
        return
    fields = node.fields(("backend", "lock"))
    backend = fields.get("backend")
    if backend is not None and backend.text() not in {None, "cluster"}:
        backend.error("unsupported_state_backend", "must be `cluster`", remedy="remove it")
    lock = fields.get("lock")
    if lock is not None and lock.flag() is False:
        lock.warn(
            "state_lock_disabled",
            "`state.lock: false` is ignored: every writing command takes the lock",
            remedy="remove it; the lock ends with the process that holds it",
        )


# --- providers ---------------------------------------------------------------------------------


def _providers(node: YamlNode | None) -> Iterator[DeclaredProvider]:
    section = node.fields(("embedding",)).get("embedding") if node else None
    for name, each in section.entries().items() if section else ():
        _require_id(each, name, "a provider")
        profile = _profile(each)
        yield DeclaredProvider(name, profile)


def _profile(node: YamlNode) -> dict[str, Any]:
    fields = node.fields(("kind", "provider", "base_url", "model", "api_key"))
    if "kind" in fields and "provider" in fields:
        fields["provider"].error(
            "invalid_embedding_provider", "`provider` is an alias of `kind`", remedy="remove it"
        )
    kind_node = fields.get("kind", fields.get("provider"))
    kind = (kind_node.text() if kind_node else None) or _KINDS[0]
    if kind not in _KINDS:
        (kind_node or node).error(
            "invalid_embedding_provider",
            f"unknown kind {kind!r}",
            remedy=f"one of: {', '.join(_KINDS)}",
        )
    profile: dict[str, Any] = {"kind": kind}
    for name in ("base_url", "model"):
        text = fields[name].text() if name in fields else None
        if text is not None:
            profile[name] = text
    if "base_url" in profile and not _is_plain_url(profile["base_url"]):
        fields["base_url"].error(
            "invalid_embedding_provider",
            "`base_url` must be an http(s) URL without credentials, query and fragment",
        )
    key = _api_key(node, fields.get("api_key"), required=kind != "mock")
    return profile if key is None else {**profile, "api_key": key}


def _api_key(provider: YamlNode, node: YamlNode | None, *, required: bool) -> str | None:
    if node is None:
        if required:
            provider.error(
                "embedding_api_key_required",
                "the provider needs an `api_key`",
                remedy="write `api_key: ${VARIABLE}`",
            )
        return None
    text = node.text()
    if text is not None and not _SECRET.fullmatch(text):
        # The value may be the secret itself, so the message omits it.
        node.error(
            "embedding_api_key_inline",
            "`api_key` must name an environment variable",
            remedy="write `api_key: ${VARIABLE}`, and revoke the key if it was committed",
        )
        return None
    return text


def _is_plain_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    return plain and parts.scheme in {"http", "https"} and bool(parts.netloc)


# --- graphs ------------------------------------------------------------------------------------


def _graphs(node: YamlNode | None) -> Iterator[DeclaredGraph]:
    for name, each in node.entries().items() if node else ():
        _require_id(each, name, "a graph")
        fields = each.fields(
            ("schema", "queries", "embedding_provider", "external_blobs"),
            reserved={"streaming": "removed_streaming_declaration"},
            required=("schema",),
        )
        schema = fields.get("schema")
        provider = fields.get("embedding_provider")
        yield DeclaredGraph(
            name,
            each,
            schema.text() if schema else None,
            schema or each,
            tuple(_query_sources(fields.get("queries"))),
            _provider_name(provider) if provider else None,
            tuple(_blob_rules(fields.get("external_blobs"))),
        )


def _query_sources(node: YamlNode | None) -> Iterator[QuerySource]:
    if node is None:
        return
    if node.is_mapping:
        for name, each in node.entries().items():
            file = each.fields(("file",), required=("file",)).get("file")
            text = file.text() if file else None
            if file is not None and text is not None:
                yield QuerySource(text, file, name)
        return
    for each in node.items() if node.is_list else [node]:
        text = each.text(what="a path")
        if text is not None:
            yield QuerySource(text, each)


def _provider_name(node: YamlNode) -> str | None:
    text = node.text()
    if text is None:
        return None
    name = text.removeprefix(_PROVIDER)
    if "." in name:
        node.error("wrong_kind_reference", f"{text!r} is no embedding provider")
        return None
    return name


def _require_providers(graphs: tuple[DeclaredGraph, ...], names: set[str]) -> None:
    for graph in graphs:
        if graph.provider is not None and graph.provider not in names:
            graph.node.error(
                "dangling_embedding_provider_reference",
                f"the embedding provider {graph.provider!r} is not declared",
                remedy=f"declare it under providers.embedding.{graph.provider}",
            )


def _blob_rules(node: YamlNode | None) -> Iterator[BlobRule]:
    allowed = node.fields(("allow",), required=("allow",)).get("allow") if node else None
    seen: list[str] = []
    for each in allowed.items() if allowed else ():
        fields = each.fields(("base", "scope"), required=("base", "scope"))
        if len(fields) != 2:
            continue
        base, scope = fields["base"].text() or "", fields["scope"].text() or ""
        problem = _base_problem(base, scope)
        if scope not in _SCOPES:
            fields["scope"].error(
                "invalid_external_blob_policy", f"unknown scope {scope!r}", remedy="|".join(_SCOPES)
            )
        elif problem:
            fields["base"].error("invalid_external_blob_base", problem)
        elif any(_overlap(base, other) for other in seen):
            fields["base"].error(
                "invalid_external_blob_policy", "the base overlaps another one", remedy="join them"
            )
        else:
            seen.append(base)
            yield BlobRule(base.rstrip("/"), scope)


def _base_problem(base: str, scope: str) -> str | None:
    scheme, mark, rest = base.partition("://")
    if not mark or scheme not in {"s3", "file", "https"} or not rest.strip("/"):
        return "the base must be an s3://, https:// or file:// prefix"
    if any(char in rest for char in "@?#") or not base.isprintable():
        return "the base contains credentials, a query or a fragment"
    segments = rest.rstrip("/").split("/")[0 if scheme != "file" else 1 :]
    if any(segment in {"", ".", ".."} for segment in segments):
        return "the base is not normalized: it contains an empty, `.` or `..` segment"
    if scheme == "file" and scope == "server_safe":
        return "a file:// base is never server_safe"
    return None


def _overlap(left: str, right: str) -> bool:
    one, other = left.rstrip("/") + "/", right.rstrip("/") + "/"
    return one.startswith(other) or other.startswith(one)


# --- policies ----------------------------------------------------------------------------------


def _policies(node: YamlNode | None, graphs: set[str]) -> Iterator[DeclaredPolicy]:
    taken: dict[str, str] = {}
    for name, each in node.entries().items() if node else ():
        _require_id(each, name, "a policy")
        fields = each.fields(("file", "applies_to"), required=("file",))
        file = fields.get("file")
        scopes = tuple(_scopes(each, fields.get("applies_to"), graphs))
        for scope in scopes:
            if scope in taken:
                each.error(
                    "duplicate_policy_binding",
                    f"{scope} has the policies {taken[scope]!r} and {name!r}",
                    remedy="join them: a scope has one policy",
                )
            taken.setdefault(scope, name)
        yield DeclaredPolicy(name, each, file.text() if file else None, scopes)


def _scopes(policy: YamlNode, node: YamlNode | None, graphs: set[str]) -> Iterator[str]:
    items = node.items() if node else []
    if not items:
        policy.error(
            "policy_missing_applies_to",
            "the policy applies to nothing",
            remedy="write `applies_to: [cluster]`, or the ids of graphs",
        )
    texts = [(item, item.text() or "") for item in items]
    if len({text == "cluster" for _, text in texts}) > 1:
        policy.error(
            "policy_mixed_binding_kinds",
            "the policy applies to the cluster and to graphs",
            remedy="write two policies",
        )
        return
    for item, text in texts:
        name = text.removeprefix(_GRAPH)
        if text == "cluster":
            yield text
        elif "." in name:
            item.error("wrong_kind_reference", f"{text!r} is no graph")
        elif name not in graphs:
            item.error(
                "dangling_graph_reference",
                f"the graph {name!r} is not declared",
                remedy=f"one of: {', '.join(sorted(graphs)) or 'none is declared'}",
            )
        else:
            yield f"{_GRAPH}{name}"


def _require_id(node: YamlNode, name: str, what: str) -> None:
    if not is_graph_id(name):
        node.error("invalid_resource_id", f"{name[:80]!r} is no id of {what}", remedy=GRAPH_ID_RULE)
