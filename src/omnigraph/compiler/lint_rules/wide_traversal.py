"""L205: a traversal whose bound does not bound it.

An open upper bound is refused by rule T15; this one warns of bounds that are as good as open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules.finding import Finding, LintRule, QueryFile
from omnigraph.language.gq.ast import Traversal
from omnigraph.language.gq.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = LintRule("L205", "Traversals stay near where they begin.")

# In most graphs nearly everything is within so many hops of anything.
WIDE_HOPS = 8


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        for node in walk(checked.query.body):
            if isinstance(node, Traversal) and node.max_hops and node.max_hops >= WIDE_HOPS:
                diagnostic = RULE.warning(
                    node.bounds_span or node.span,
                    f"up to {node.max_hops} hops along `{node.edge_name}` may reach everything",
                    f"ask for fewer than {WIDE_HOPS} hops, or narrow the start with a filter",
                )
                yield Finding(diagnostic, (checked.query.name,))
