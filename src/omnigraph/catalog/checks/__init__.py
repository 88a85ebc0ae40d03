"""Validate a schema: one function and one code per rule.

A check takes the expanded schema and yields diagnostics; no check relies on another one having
passed. ``CHECKS`` run in order; the caller sorts diagnostics by position. Modules:

- ``size``: limits on the size of a schema.
- ``names``: names of types and properties.
- ``references``: interfaces and endpoints.
- ``constraints``: keys, unique constraints and indexes.
- ``values``: ranges, patterns, cardinality and defaults.
- ``metadata``: annotations and their arguments.
- ``renames``: uses of ``@rename_from``.
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

# More than any report shows; the rest appears once these are fixed.
_DIAGNOSTICS_MAX = 100


def check_schema(schema: SchemaDraft) -> list[Diagnostic]:
    """Return the diagnostics of a schema, each code once per position.

    An error in an interface recurs in every node that implements it.
    """
    found: dict[tuple[str, Span], Diagnostic] = {}
    for check in CHECKS:
        for diagnostic in check(schema):
            found.setdefault((diagnostic.code, diagnostic.span), diagnostic)
            if len(found) >= _DIAGNOSTICS_MAX:
                return list(found.values())
    return list(found.values())
