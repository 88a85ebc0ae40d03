"""The rules of a schema: one small function each, one code each.

A check takes the expanded schema and yields what is wrong; none of them relies on another one
having passed. ``CHECKS`` is the order in which they run; findings are sorted by position later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.checks import constraints, metadata, names, references, renames, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.catalog.draft import SchemaDraft
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

__all__ = ["CHECKS", "check_schema"]

CHECKS: tuple[Callable[[SchemaDraft], Iterator[Diagnostic]], ...] = (
    *names.CHECKS,
    *references.CHECKS,
    *constraints.CHECKS,
    *values.CHECKS,
    *metadata.CHECKS,
    *renames.CHECKS,
)

# More than anyone is shown; what is beyond them is found when they are mended.
_FINDINGS_MAX = 100


def check_schema(schema: SchemaDraft) -> list[Diagnostic]:
    """Everything that is wrong with a schema.

    What an interface says wrongly is found again in every node that implements it; it is reported
    once, where it is written.
    """
    found: dict[tuple[str, Span], Diagnostic] = {}
    for check in CHECKS:
        for diagnostic in check(schema):
            found.setdefault((diagnostic.code, diagnostic.span), diagnostic)
            if len(found) >= _FINDINGS_MAX:
                return list(found.values())
    return list(found.values())
