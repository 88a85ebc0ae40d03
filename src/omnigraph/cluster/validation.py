"""Validation of a cluster directory, without access to its storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.build import build_catalog
from omnigraph.cluster.declaration import parse_declaration
from omnigraph.cluster.resources import (
    DesiredState,
    Resource,
    canonical_json,
    digest_of,
    graph_address,
    graph_digest,
    policy_address,
    provider_address,
    query_address,
    schema_address,
)
from omnigraph.cluster.source_files import SourceFiles
from omnigraph.compiler import check_document
from omnigraph.errors import GraphError, InvalidInput, SyntaxFailure
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.policy.reading import parse_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.catalog.model import Catalog
    from omnigraph.cluster.declaration import (
        Declaration,
        DeclaredGraph,
        DeclaredPolicy,
        QuerySource,
    )
    from omnigraph.cluster.reporting import Report
    from omnigraph.language.gq.ast import Query

__all__ = ["CONFIG_FILE", "load_cluster"]

CONFIG_FILE = "cluster.yaml"


def load_cluster(directory: Path, report: Report) -> DesiredState | None:
    """Read and check a cluster directory; None if there are errors."""
    if not directory.is_dir():
        report.error(
            "config_dir_not_found",
            str(directory),
            f"{directory} is not a directory",
            remedy=f"name the directory of {CONFIG_FILE} by --config",
        )
        return None
    path = directory / CONFIG_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        report.error("cluster_config_read_error", CONFIG_FILE, f"cannot read {path}: {why}")
        return None
    declaration = parse_declaration(text, CONFIG_FILE, report)
    if declaration is None:
        return None
    files = SourceFiles(directory)
    resources = {
        each.address: each
        for each in (
            *_providers(declaration),
            *(found for graph in declaration.graphs for found in _graph(graph, files, report)),
            *_policies(declaration, files),
        )
    }
    return _desired(declaration, resources) if report.ok else None


def _desired(declaration: Declaration, resources: dict[str, Resource]) -> DesiredState:
    entries = {address: each.entry for address, each in resources.items()}
    for graph in declaration.graphs:
        address = graph_address(graph.id)
        entry = {**entries[address], "digest": graph_digest(graph.id, entries)}
        resources[address] = Resource(address, entry)
    semantics = {
        "version": 1,
        "name": declaration.name,
        "storage": declaration.storage,
        "resources": {address: each.entry for address, each in resources.items()},
    }
    return DesiredState(resources, digest_of(canonical_json(semantics)), declaration.storage)


def _providers(declaration: Declaration) -> Iterator[Resource]:
    for provider in declaration.providers:
        entry = {
            "digest": digest_of(canonical_json(provider.profile)),
            "embedding_profile": provider.profile,
        }
        yield Resource(provider_address(provider.name), entry)


# --- graphs ------------------------------------------------------------------------------------


def _graph(graph: DeclaredGraph, files: SourceFiles, report: Report) -> Iterator[Resource]:
    entry: dict[str, Any] = {}
    if graph.provider is not None:
        entry["embedding_provider"] = provider_address(graph.provider)
    if graph.blobs:
        entry["external_blob_policy"] = [
            {"base": rule.base, "scope": rule.scope}
            for rule in sorted(graph.blobs, key=lambda rule: rule.base)
        ]
    yield Resource(graph_address(graph.id), entry)
    body, catalog = None, None
    if graph.schema is not None:
        body = files.read(graph.schema, graph.schema_node, missing="schema_file_missing")
    if body is not None:
        yield _file_resource(schema_address(graph.id), graph.schema or "", body)
        catalog = _catalog(graph, body)
    yield from _queries(graph, catalog, files, report)


def _file_resource(address: str, path: str, body: bytes) -> Resource:
    return Resource(address, {"digest": digest_of(body)}, path, body)


def _catalog(graph: DeclaredGraph, body: bytes) -> Catalog | None:
    node, path = graph.schema_node, graph.schema or ""
    try:
        source = Source(body.decode(), path)
        return build_catalog(parse_schema(source), source)
    except SyntaxFailure as error:
        node.error("schema_parse_error", _summary(error), remedy=error.remedy)
    except GraphError as error:
        node.error("schema_catalog_error", _summary(error), remedy=error.remedy)
    except UnicodeDecodeError:
        node.error("schema_parse_error", f"{path} is not UTF-8")
    return None


def _queries(
    graph: DeclaredGraph, catalog: Catalog | None, files: SourceFiles, report: Report
) -> Iterator[Resource]:
    seen: dict[str, str] = {}
    for source in graph.queries:
        for path in files.query_files(source.path, source.node, named=source.name is not None):
            body = files.read(path, source.node, missing="query_file_missing")
            for query in _checked(path, body, source, catalog) if body is not None else ():
                if query.name in seen:
                    source.node.error(
                        "duplicate_query_name",
                        f"the query {query.name!r} occurs in {seen[query.name]} and in {path}",
                        remedy="rename one of them",
                    )
                    continue
                seen[query.name] = path
                yield _file_resource(query_address(graph.id, query.name), path, body or b"")
    if seen and catalog is None:
        report.warn(
            "query_typecheck_skipped",
            graph_address(graph.id),
            f"{len(seen)} queries are not checked, because the schema is not valid",
        )


def _checked(
    path: str, body: bytes, source: QuerySource, catalog: Catalog | None
) -> Iterator[Query]:
    """Parse a file, check it against the schema, and return the declared queries."""
    node = source.node
    try:
        text = Source(body.decode(), path)
        document = parse_queries(text)
    except (GraphError, UnicodeDecodeError) as error:
        node.error("query_parse_error", _summary(error))
        return
    if source.name is not None and source.name not in {each.name for each in document.queries}:
        names = ", ".join(each.name for each in document.queries)
        node.error(
            "query_key_mismatch",
            f"{path} does not contain the query {source.name!r}",
            remedy=f"it contains: {names}",
        )
        return
    for found in check_document(catalog, document) if catalog else ():
        at = text.position(found.span.start)
        node.error(
            "query_typecheck_error",
            f"{path}:{at.line}:{at.column}: [{found.code}] {found.message}",
            remedy=found.remedy,
        )
    yield from (each for each in document.queries if source.name in {None, each.name})


# --- policies ----------------------------------------------------------------------------------


def _policies(declaration: Declaration, files: SourceFiles) -> Iterator[Resource]:
    for policy in declaration.policies:
        if policy.file is None:
            continue
        body = files.read(policy.file, policy.node, missing="policy_file_missing")
        if body is None:
            continue
        _check_bundle(policy, body)
        entry = {"digest": digest_of(body), "applies_to": sorted(policy.applies_to)}
        yield Resource(policy_address(policy.name), entry, policy.file, body)


def _check_bundle(policy: DeclaredPolicy, body: bytes) -> None:
    try:
        bundle = parse_bundle(body.decode(), policy.file or "")
    except (InvalidInput, UnicodeDecodeError) as error:
        policy.node.error("policy_invalid", _summary(error), remedy=getattr(error, "remedy", None))
        return
    if not policy.applies_to:
        return
    kind = bundle.kind or ("server" if bundle.governs_server else "graph")
    bound = "server" if policy.applies_to == ("cluster",) else "graph"
    if kind != bound and (bundle.kind or bundle.rules):
        policy.node.error(
            "policy_kind_mismatch",
            f"{policy.file} is a policy of a {kind}, and applies to {policy.applies_to[0]}",
            remedy="a policy of a server applies to [cluster], one of a graph to graphs",
        )


def _summary(error: Exception) -> str:
    """Return the first problem of an error, with its position."""
    if isinstance(error, UnicodeDecodeError):
        return "the file is not UTF-8"
    listed = error.details.get("diagnostics") if isinstance(error, GraphError) else None
    if not listed:
        return str(getattr(error, "message", error))
    first = listed[0]
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    where = f"{first['file']}:{first['line']}:{first['column']}"
    return f"{where}: [{first['code']}] {first['message']}{more}"
