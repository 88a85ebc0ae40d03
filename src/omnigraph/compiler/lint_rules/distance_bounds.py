"""L206: bounds count the shortest distance, so a minimum above one leaves out nearer nodes.

Cypher, GQL and SQL count walks or trails there: a node that is one hop away can also be two hops
away. Here it cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile
from omnigraph.language.gq.ast import Traversal
from omnigraph.language.gq.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import EdgeType
    from omnigraph.language.diagnostics import Diagnostic

RULE = LintRule("L206", "A minimum above one is meant as a shortest distance.")


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        for node in walk(checked.query.body):
            if isinstance(node, Traversal) and node.min_hops > 1:
                diagnostic = _explained(node, file.catalog.edge(node.edge_name))
                yield Finding(diagnostic, (checked.query.name,))


def _explained(node: Traversal, edge: EdgeType | None) -> Diagnostic:
    span = node.bounds_span or node.span
    if edge is not None and edge.source != edge.target:
        return RULE.warning(
            span,
            f"nothing is {node.min_hops} hops away along `{edge.name}`: "
            "it joins two types, so a path ends after one",
            "drop the bounds, or write the edges of the path one by one",
        )
    nearer = node.min_hops - 1
    hops = "1 hop" if nearer == 1 else f"1 to {nearer} hops"
    return RULE.warning(
        span,
        f"hops count the shortest distance: a node that `{node.edge_name}` reaches in {hops} "
        "is left out, also if a longer path leads there",
        "write the edges one by one for every path of that length, "
        f"or `{{1,{node.max_hops or 1}}}` for all within reach",
    )
