"""Rules of the linter, one module each.

A rule looks at a whole file and yields its findings. Errors of syntax and type are not among them.

Modules in reading order:

* ``finding``: the input of a rule, and its findings.
* ``unset_property``: L201, an optional property that no update sets.
* ``fixed_mutation``: L202, a mutation that is the same in every run.
* ``unused_param``: L203, a parameter that is never read.
* ``unindexed_filter``: L204, a filter on a large type without an index.
* ``wide_traversal``: L205, a traversal with a very large bound.
* ``distance_bounds``: L206, a minimum of hops above one.
* ``reversed_traversal``: L207, a traversal written in reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.lint_rules import (
    distance_bounds,
    fixed_mutation,
    reversed_traversal,
    unindexed_filter,
    unset_property,
    unused_param,
    wide_traversal,
)
from omnigraph.compiler.lint_rules.finding import (
    CheckedQuery,
    Finding,
    LintRule,
    QueryFile,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CHECKS", "LINT_RULES", "CheckedQuery", "Finding", "LintRule", "QueryFile"]

LINT_RULES: tuple[LintRule, ...] = (
    unset_property.RULE,
    fixed_mutation.RULE,
    unused_param.RULE,
    unindexed_filter.RULE,
    wide_traversal.RULE,
    distance_bounds.RULE,
    reversed_traversal.RULE,
)

CHECKS: tuple[Callable[[QueryFile], Iterator[Finding]], ...] = (
    unset_property.check,
    fixed_mutation.check,
    unused_param.check,
    unindexed_filter.check,
    wide_traversal.check,
    distance_bounds.check,
    reversed_traversal.check,
)
