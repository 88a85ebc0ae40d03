"""Lint: a file of queries against a schema, errors and warnings together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.compiler.lint_rules import CHECKS, CheckedQuery, Finding, QueryFile
from omnigraph.compiler.lower import lower_with_notes
from omnigraph.frozen import frozen
from omnigraph.ir.queries import QueryIR, ReadIR, ResultColumn, TypeUse
from omnigraph.language.diagnostics import Severity, render
from omnigraph.language.gq.ast import Mutation
from omnigraph.language.gq.parser import check_syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.language.source import Source

__all__ = ["LintReport", "LintedQuery", "lint"]


@frozen
class LintedQuery:
    """One query: whether it fits, and what it reads and writes if it does."""

    name: str
    kind: str
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    lowered: QueryIR | None

    @property
    def status(self) -> str:
        return "error" if self.errors else "ok"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.name, "kind": self.kind, "status": self.status}
        if self.warnings:
            body["warnings"] = [_summary(found) for found in self.warnings]
        if self.errors:
            body["error"] = "\n".join(_summary(found) for found in self.errors)
        if self.lowered is not None:
            body["operation"] = _operation(self.lowered)
        return body


@frozen
class LintReport:
    """All that was found in a file, in the order of its text."""

    source: Source
    results: tuple[LintedQuery, ...]
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        return "error" if self.count(Severity.ERROR) else "ok"

    def count(self, severity: Severity) -> int:
        return sum(found.diagnostic.severity is severity for found in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The report for ``--json``."""
        return {
            "status": self.status,
            "query_path": self.source.name,
            "queries_processed": len(self.results),
            "errors": self.count(Severity.ERROR),
            "warnings": self.count(Severity.WARNING),
            "infos": self.count(Severity.INFO),
            "results": [result.to_json() for result in self.results],
            "findings": [found.to_json(self.source) for found in self.findings],
        }

    def to_text(self) -> str:
        """The report for a person: every finding with its line, then one line of sums."""
        lines = [render(self.source, found.diagnostic) for found in self.findings]
        sums = [
            _plural(len(self.results), "query", "queries"),
            _plural(self.count(Severity.ERROR), "error", "errors"),
            _plural(self.count(Severity.WARNING), "warning", "warnings"),
        ]
        if self.count(Severity.INFO):
            sums.append(_plural(self.count(Severity.INFO), "remark", "remarks"))
        return "\n".join([*lines, f"{self.source.name}: {', '.join(sums)}"])


def lint(
    schema: Catalog, source: Source, *, large_types: Mapping[str, int] | None = None
) -> LintReport:
    """Everything that is wrong, or suspicious, in a file of queries.

    ``large_types`` names the types that are too large to be read whole, with their numbers of
    entities; without it no filter is reported as unindexed. Where some queries do not parse, the
    others are still checked against the schema, but nothing is suspected: what looks unused or
    unset may be used in the part that could not be read.
    """
    document, problems = check_syntax(source)
    queries = []
    for query in document.queries:
        if any(query.span.start <= found.span.start < query.span.end for found in problems):
            continue
        lowered = lower_with_notes(schema, query)
        queries.append(
            CheckedQuery(query, lowered.ir, lowered.findings, lowered.reversed_traversals)
        )
    found_so_far = [Finding(found) for found in problems]
    for checked in queries:
        found_so_far += [Finding(found, (checked.query.name,)) for found in checked.errors]
    if not problems:
        file = QueryFile(schema, tuple(queries), large_types or {})
        found_so_far += [found for check in CHECKS for found in check(file)]
    findings = _ordered(found_so_far)
    return LintReport(source, tuple(_result(checked, findings) for checked in queries), findings)


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(
        sorted(findings, key=lambda found: (found.diagnostic.span.start, found.diagnostic.code))
    )


def _result(checked: CheckedQuery, findings: tuple[Finding, ...]) -> LintedQuery:
    """The findings of one query alone; those about the whole file stand beside the results."""
    own = [
        found
        for found in findings
        if checked.query.name in found.query_names and not found.file_wide
    ]
    return LintedQuery(
        name=checked.query.name,
        kind="mutation" if isinstance(checked.query.body, Mutation) else "read",
        errors=tuple(found for found in own if found.diagnostic.severity is Severity.ERROR),
        warnings=tuple(found for found in own if found.diagnostic.severity is Severity.WARNING),
        lowered=checked.lowered,
    )


def _summary(found: Finding) -> str:
    return f"{found.diagnostic.code}: {found.diagnostic.message}"


def _operation(lowered: QueryIR) -> dict[str, Any]:
    """The facts of a query that a client or a policy needs before it runs."""
    columns, writes = (lowered.columns, ()) if isinstance(lowered, ReadIR) else ((), lowered.writes)
    return {
        "result": [_column(column) for column in columns],
        "reads": _uses(lowered.reads),
        "writes": _uses(writes),
    }


def _column(column: ResultColumn) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "nullable": column.nullable,
    }
    if column.item_kind is not None:
        body["item_kind"] = column.item_kind
    if column.vector_dim is not None:
        body["vector_dim"] = column.vector_dim
    return body


def _uses(uses: tuple[TypeUse, ...]) -> list[dict[str, str]]:
    """Nodes before edges, each by name."""
    ordered = sorted({(use.kind != "node", use.name, use.kind) for use in uses})
    return [{"kind": kind, "type_name": name} for _, name, kind in ordered]


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
