"""T42: a replaced entity has a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.language.gq.ast import InsertVerb

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Insert

RULE = Rule("T42", "`replace` names a type with a key.")


def check(entity: EntityType, node: Insert) -> Diagnostic | None:
    """Without a key every row is new, and there is nothing to replace."""
    if node.verb is not InsertVerb.REPLACE or entity.key is not None:
        return None
    return RULE.broken(
        node.type_span,
        f"`{entity.name}` has no key, so no row of it can be replaced",
        "write `create`, or `update … where`; or give the type a `@key`",
    )
