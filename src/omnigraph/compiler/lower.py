"""From the syntax of a query to its IR.

Checking and lowering are one walk: the typed form of an expression is its IR, and a rule is asked
at the very place where what it needs is known. A query with findings has no IR.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.compiler.columns import result_column
from omnigraph.compiler.mutations import lower_statement
from omnigraph.compiler.stages import lower_read
from omnigraph.compiler.unit import CompilationUnit, TooManyDiagnostics
from omnigraph.frozen import frozen
from omnigraph.ir.queries import MutationIR, QueryIR, ReadIR
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.diagnostics import Diagnostic

__all__ = ["Lowered", "lower_query", "lower_with_notes"]


@frozen
class Lowered:
    """A query with its IR, or everything that is wrong with it, in the order of the text."""

    ir: QueryIR | None
    findings: tuple[Diagnostic, ...]
    # Traversals that the types of their ends direct against how they are written.
    reversed_traversals: tuple[ast.Traversal, ...]


def lower_query(catalog: Catalog, query: ast.Query) -> tuple[QueryIR | None, list[Diagnostic]]:
    """The IR of a query, or everything that is wrong with it, in the order of the text."""
    lowered = lower_with_notes(catalog, query)
    return lowered.ir, list(lowered.findings)


def lower_with_notes(catalog: Catalog, query: ast.Query) -> Lowered:
    """Lowers a query and keeps what the IR leaves out and a linter mentions."""
    unit = CompilationUnit(catalog, query)
    ir = None
    with suppress(TooManyDiagnostics):
        ir = _lower(unit, query)
    findings = sorted(unit.findings, key=lambda found: (found.span.start, found.code))
    return Lowered(None if findings else ir, tuple(findings), tuple(unit.reversed_traversals))


def _lower(unit: CompilationUnit, query: ast.Query) -> QueryIR:
    if isinstance(query.body, ast.Mutation):
        return _lower_mutation(unit, query, query.body)
    last = lower_read(unit, query.body)
    return ReadIR(
        name=query.name,
        params=tuple(unit.params.values()),
        match=last.match,
        returns=last.returns,
        distinct=last.distinct,
        order=last.order,
        limit=last.limit,
        offset=last.offset,
        columns=tuple(result_column(projection) for projection in last.returns),
        reads=unit.read_set(),
        having=last.having,
    )


def _lower_mutation(unit: CompilationUnit, query: ast.Query, mutation: ast.Mutation) -> MutationIR:
    statements = [lower_statement(unit, statement) for statement in mutation.statements]
    return MutationIR(
        name=query.name,
        params=tuple(unit.params.values()),
        statements=tuple(statement for statement in statements if statement is not None),
        reads=unit.read_set(),
        writes=unit.write_set(),
    )
