"""The input of a lint rule, and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen
from omnigraph.language.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.queries import QueryIR
    from omnigraph.language.gq.ast import Query, Traversal
    from omnigraph.language.source import Source, Span

__all__ = ["CheckedQuery", "Finding", "LintRule", "QueryFile"]


@frozen
class CheckedQuery:
    """A query with its IR; without one when it does not fit the schema.

    ``reversed_traversals`` are those that the types of their ends direct against how they are
    written.
    """

    query: Query
    lowered: QueryIR | None
    errors: tuple[Diagnostic, ...]
    reversed_traversals: tuple[Traversal, ...] = ()


@frozen
class QueryFile:
    """A file of queries that parses. ``large_types`` are names with their numbers of entities."""

    catalog: Catalog
    queries: tuple[CheckedQuery, ...]
    large_types: Mapping[str, int]


@frozen
class Finding:
    """A diagnostic, with the queries, the type and the property that it speaks of."""

    diagnostic: Diagnostic
    query_names: tuple[str, ...] = ()
    type_name: str | None = None
    prop: str | None = None
    # It speaks of the file as a whole, though it names queries.
    file_wide: bool = False

    def to_json(self, source: Source) -> dict[str, Any]:
        """The fields of the diagnostic and those that are known beside."""
        body = self.diagnostic.to_json(source)
        if self.type_name:
            body["type_name"] = self.type_name
        if self.prop:
            body["property"] = self.prop
        if self.query_names:
            body["query_names"] = list(self.query_names)
        return body


@frozen
class LintRule:
    """A stable code and, in one line, what it warns of."""

    code: str
    meaning: str

    def warning(self, span: Span, message: str, remedy: str) -> Diagnostic:
        return Diagnostic(self.code, message, span, remedy, Severity.WARNING)

    def info(self, span: Span, message: str, remedy: str) -> Diagnostic:
        return Diagnostic(self.code, message, span, remedy, Severity.INFO)
