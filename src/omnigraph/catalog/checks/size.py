"""Limit the size of a schema, before the expansion of interfaces multiplies it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.pg.ast import NodeDecl
from omnigraph.language.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.draft import Declaration
    from omnigraph.language.pg.ast import SchemaDocument

__all__ = ["MEMBERS_MAX", "TYPE_MEMBERS_MAX", "check_size"]

# Properties and constraints of one type, and of all types, including inherited ones.
TYPE_MEMBERS_MAX = 2_000
MEMBERS_MAX = 100_000


def check_size(document: SchemaDocument) -> Iterator[Diagnostic]:
    """Yield a diagnostic for every exceeded limit."""
    sizes = {decl.name: _own_size(decl) for decl in document.interfaces}
    declarations: list[Declaration] = [*document.interfaces, *document.nodes, *document.edges]
    total = 0
    for decl in declarations:
        inherits = decl.implements if isinstance(decl, NodeDecl) else ()
        size = _own_size(decl) + sum(sizes.get(name, 0) for name, _ in inherits)
        # An empty type counts as one.
        total += size + 1
        if size > TYPE_MEMBERS_MAX:
            yield Diagnostic(
                SchemaCode.TOO_LARGE,
                f"`{decl.name}` has {size:,} properties and constraints; "
                f"the limit is {TYPE_MEMBERS_MAX:,}",
                decl.name_span,
                "split it into several types",
            )
    if total > MEMBERS_MAX:
        yield Diagnostic(
            SchemaCode.TOO_LARGE,
            f"the schema has {total:,} types, properties and constraints; "
            f"the limit is {MEMBERS_MAX:,}",
            Span(0, 0),
            "split it into several graphs",
        )


def _own_size(decl: Declaration) -> int:
    on_properties = sum(len(prop.constraints) for prop in decl.properties)
    return len(decl.properties) + on_properties + len(decl.constraints)
