"""T12: an insert gives every value that the type requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T12", "An insert gives every required property without a default, and both endpoints.")


def missing(entity: EntityType, names: Sequence[str], span: Span) -> Diagnostic:
    """One finding for all of them: they are mended in one edit."""
    listed = ", ".join(f"`{name}`" for name in names)
    return RULE.broken(
        span,
        f"an insert of `{entity.name}` must give {listed}",
        f"add `{names[0]}: …`" + (" and the others" if len(names) > 1 else ""),
    )
