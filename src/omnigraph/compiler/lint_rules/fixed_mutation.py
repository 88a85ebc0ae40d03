"""L202: a mutation that does the same whenever it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile
from omnigraph.language.gq.ast import Mutation

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = LintRule("L202", "A mutation has parameters.")


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        query = checked.query
        if isinstance(query.body, Mutation) and not query.params:
            diagnostic = RULE.warning(
                query.name_span,
                f"the mutation `{query.name}` has no parameters: what it writes is fixed",
                "declare what changes from call to call as parameters",
            )
            yield Finding(diagnostic, (query.name,))
