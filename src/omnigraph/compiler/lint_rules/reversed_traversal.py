"""L207: a traversal that is written against the direction of its edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = LintRule("L207", "A traversal is written in the direction in which its edge is declared.")


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        for node in checked.reversed_traversals:
            edge = file.catalog.edge(node.edge_name)
            if edge is None:
                continue
            first, last = (file.catalog.types[end].name for end in (edge.source, edge.target))
            named = f"${node.edge_variable}:" if node.edge_variable else ""
            diagnostic = RULE.info(
                node.edge_span,
                f"`{edge.name}` leads from {first} to {last}: by the types of its ends this is "
                f"followed from `${node.target}` to `${node.source}`",
                f"write `${node.target} {named}{node.edge_name} ${node.source}`",
            )
            yield Finding(diagnostic, (checked.query.name,))
