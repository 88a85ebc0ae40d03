"""What lint warns of, a module for each rule; ``finding`` holds what they share.

A rule looks at a whole file and yields its findings. Errors of syntax and type are not among them.
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
