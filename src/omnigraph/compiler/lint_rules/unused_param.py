"""L203: a parameter that the query never reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile
from omnigraph.language.gq.ast import Variable
from omnigraph.language.gq.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = LintRule("L203", "Every parameter is used.")


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        query = checked.query
        used = {node.name for node in walk(query.body) if isinstance(node, Variable)}
        for param in query.params:
            if param.name not in used:
                diagnostic = RULE.warning(
                    param.span,
                    f"the parameter `${param.name}` of `{query.name}` is never used",
                    "remove it, or use it",
                )
                yield Finding(diagnostic, (query.name,))
