"""T12: an insert gives every value that the type requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule(
    "T12", "An insert gives key and endpoints; without an upsert, all that is required, too."
)


def missing(entity: EntityType, verb: str, names: Sequence[str], span: Span) -> Diagnostic:
    """One finding for all of them: they are mended in one edit."""
    listed = ", ".join(f"`{name}`" for name in names)
    return RULE.broken(
        span,
        f"`{verb} {entity.name}` must give {listed}",
        f"add `{names[0]}: …`" + (" and the others" if len(names) > 1 else ""),
    )
