"""The doors of the compiler: from text, or from syntax, to IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lower import lower_query
from omnigraph.errors import InvalidInput, NotFound, TypeFailure
from omnigraph.language.diagnostics import Diagnostic, did_you_mean, failure
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import DEFAULT_SOURCE_NAME, Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.ir.queries import QueryIR
    from omnigraph.language.gq.ast import Document, Query

__all__ = [
    "check_document",
    "check_query",
    "compile_document",
    "compile_query",
    "compile_source",
    "require_texts",
    "select_query",
]


def require_texts(text: object, name: object) -> None:
    """A query is a text, and so is the name of one, if there is one."""
    if not isinstance(text, str) or not (name is None or isinstance(name, str)):
        what, found = ("a query", text) if not isinstance(text, str) else ("its name", name)
        raise InvalidInput(
            "query.bad_type",
            f"{what} is a text, not {type(found).__name__}",
            remedy="hand over a string; bytes have to be decoded",
        )


def compile_source(
    catalog: Catalog,
    text: str,
    name: str | None = None,
    *,
    source_name: str = DEFAULT_SOURCE_NAME,
) -> QueryIR:
    """Parses a text and compiles one query of it; the only one needs no name."""
    source = Source(text, source_name)
    return compile_query(catalog, parse_queries(source), source, name=name)


def compile_query(
    catalog: Catalog, document: Document, source: Source, name: str | None = None
) -> QueryIR:
    """Compiles one query; raises ``TypeFailure`` with everything that is wrong with it."""
    lowered, found = lower_query(catalog, select_query(document, name))
    if lowered is None:
        raise failure(TypeFailure, source, found)
    return lowered


def compile_document(catalog: Catalog, document: Document, source: Source) -> tuple[QueryIR, ...]:
    """Compiles every query; raises ``TypeFailure`` with all that is wrong with any of them."""
    compiled = []
    findings: list[Diagnostic] = []
    for query in document.queries:
        lowered, found = lower_query(catalog, query)
        findings += found
        if lowered is not None:
            compiled.append(lowered)
    if findings:
        raise failure(TypeFailure, source, findings)
    return tuple(compiled)


def check_query(catalog: Catalog, query: Query) -> list[Diagnostic]:
    """Everything that is wrong with a query, in the order of the text."""
    return lower_query(catalog, query)[1]


def check_document(catalog: Catalog, document: Document) -> list[Diagnostic]:
    """Everything that is wrong with any query, in the order of the text."""
    return [found for query in document.queries for found in check_query(catalog, query)]


def select_query(document: Document, name: str | None) -> Query:
    """The query of that name, or the only one."""
    known = [query.name for query in document.queries]
    if name is None:
        if len(known) == 1:
            return document.queries[0]
        raise InvalidInput(
            "query.ambiguous",
            f"the text holds {len(known)} queries: {', '.join(known)}"
            if known
            else "no query here",
            remedy="name one of them" if known else "write `query name() { … }`",
        )
    for query in document.queries:
        if query.name == name:
            return query
    raise NotFound(
        "query.missing",
        f"the text holds no query `{name}`",
        remedy=did_you_mean(name, known) or f"it holds {', '.join(known) or 'none'}",
    )
