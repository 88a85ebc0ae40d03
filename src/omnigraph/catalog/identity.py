"""Assign identities to the types and properties of a new schema.

An element keeps the identity of the accepted element with the same name, or with the name in
``@rename_from``, as long as that name is unused; the annotation may stay in the source after the
rename. Every other element is new, including one that was dropped and is declared again.

The identity of a new element derives from its position, name, type and the number of earlier uses.
Two branches that add the same element therefore assign the same identity and can be merged.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, TypeVar

from omnigraph.catalog.checks.renames import old_name
from omnigraph.catalog.model import PropertyId, TypeId, own_ids
from omnigraph.datatypes.types import spell_type
from omnigraph.language.pg.ast import EdgeDecl
from omnigraph.runtime.ids import derive_short_id, new_short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from omnigraph.catalog.draft import AnyDraft
    from omnigraph.catalog.model import Catalog, EntityType, Property
    from omnigraph.language.pg.ast import PropertyDecl

__all__ = ["Identities"]

_Known = TypeVar("_Known", "EntityType", "Property")


class Identities:
    """Assigns identities and columns, those of a predecessor first."""

    def __init__(
        self, previous: Catalog | None, live: Collection[str], mint: Callable[[], str] | None
    ) -> None:
        """Take the predecessor and the names of all types of the new schema (``live``)."""
        self._mint = mint or (new_short_id if previous is None else None)
        self._taken = {*own_ids(previous), *previous.retired} if previous else set()
        self._live = set(live)
        self._live_folded = {name.casefold() for name in live}
        self._nodes: Mapping[str, EntityType] = {}
        self._edges: Mapping[str, EntityType] = {}
        if previous:
            self._nodes = {node.name: node for node in previous.nodes}
            # Edge names are case-insensitive, so a change of case is not a new edge.
            self._edges = {edge.name.casefold(): edge for edge in previous.edges}

    def node(self, draft: AnyDraft) -> EntityType | None:
        """Return the predecessor of a node type, or None."""
        old = old_name(draft.decl.annotations)
        return _predecessor(draft.name, old, self._nodes, self._live)

    def edge(self, draft: AnyDraft) -> EntityType | None:
        """Return the predecessor of an edge type, or None."""
        old = old_name(draft.decl.annotations)
        folded = old.casefold() if old else None
        return _predecessor(draft.name.casefold(), folded, self._edges, self._live_folded)

    def type_id(self, draft: AnyDraft, predecessor: EntityType | None) -> TypeId:
        if predecessor:
            return predecessor.id
        ends: tuple[str, ...] = ()
        if isinstance(draft.decl, EdgeDecl):
            ends = (draft.decl.source, draft.decl.target)
        keys = (name for each in draft.constraints if each.name == "key" for name in each.props)
        return TypeId(self._fresh(draft.kind, draft.name, *ends, *keys))

    def properties(
        self, draft: AnyDraft, type_id: TypeId, predecessor: EntityType | None
    ) -> list[tuple[PropertyDecl, PropertyId, str]]:
        """Return each property with its identity and its column.

        A new property uses its name as the column, unless the predecessor used that column for
        another property: older versions of the table still contain it.
        """
        known = predecessor.by_name if predecessor else {}
        taken = {prop.column for prop in known.values()}
        live = set(draft.by_name)
        found: list[tuple[PropertyDecl, PropertyId, str]] = []
        for decl in draft.properties:
            before = _predecessor(decl.name, old_name(decl.annotations), known, live)
            if before:
                found.append((decl, before.id, before.column))
                continue
            fresh = PropertyId(self._fresh(type_id, decl.name, spell_type(decl.dtype)))
            column = f"{decl.name}__{fresh}" if decl.name in taken else decl.name
            found.append((decl, fresh, column))
        return found

    def _fresh(self, *parts: str) -> str:
        if self._mint is not None:
            return self._mint()
        candidates = (derive_short_id(*parts, str(number)) for number in count())
        found = next(each for each in candidates if each not in self._taken)
        self._taken.add(found)
        return found


def _predecessor(
    name: str, old: str | None, known: Mapping[str, _Known], live: set[str]
) -> _Known | None:
    if name in known:
        return known[name]
    if old is not None and old not in live:
        return known.get(old)
    return None
