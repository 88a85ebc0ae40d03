"""Identities: which type or property of a new schema is which of the accepted one.

The same name is the same thing. ``@rename_from`` names the thing that had another name before; it
counts only while it still says something, so it may stay in the source after the rename. Everything
else is new, also what was dropped once and comes back.

What is new in an accepted schema is identified by what it is: its place, name and type, and how
often that was used before. So two branches that add the same thing have added one thing, and can be
merged.
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
    """Gives out identities and columns, those of a predecessor first."""

    def __init__(
        self, previous: Catalog | None, living: Collection[str], mint: Callable[[], str] | None
    ) -> None:
        """``living`` are the names of all types of the new schema."""
        self._mint = mint or (new_short_id if previous is None else None)
        self._taken = {*own_ids(previous), *previous.retired} if previous else set()
        self._living = set(living)
        self._living_folded = {name.casefold() for name in living}
        self._nodes: Mapping[str, EntityType] = {}
        self._edges: Mapping[str, EntityType] = {}
        if previous:
            self._nodes = {node.name: node for node in previous.nodes}
            # Edges are matched without regard to case, so a change of case is not a new edge.
            self._edges = {edge.name.casefold(): edge for edge in previous.edges}

    def node(self, draft: AnyDraft) -> EntityType | None:
        """The predecessor of a node type."""
        old = old_name(draft.decl.annotations)
        return _predecessor(draft.name, old, self._nodes, self._living)

    def edge(self, draft: AnyDraft) -> EntityType | None:
        """The predecessor of an edge type."""
        old = old_name(draft.decl.annotations)
        folded = old.casefold() if old else None
        return _predecessor(draft.name.casefold(), folded, self._edges, self._living_folded)

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
        """Each property with its identity and its column.

        A new property gets a column of its name, unless the predecessor has used that column for
        something else: old versions of the table still hold it.
        """
        known = predecessor.by_name if predecessor else {}
        taken = {prop.column for prop in known.values()}
        living = set(draft.by_name)
        found: list[tuple[PropertyDecl, PropertyId, str]] = []
        for decl in draft.properties:
            before = _predecessor(decl.name, old_name(decl.annotations), known, living)
            if before:
                found.append((decl, before.id, before.column))
                continue
            fresh = PropertyId(self._fresh(type_id, decl.name, spell_type(decl.dtype)))
            column = f"{decl.name}__{fresh}" if decl.name in taken else decl.name
            found.append((decl, fresh, column))
        return found

    def _fresh(self, *words: str) -> str:
        if self._mint is not None:
            return self._mint()
        lives = (derive_short_id(*words, str(number)) for number in count())
        found = next(each for each in lives if each not in self._taken)
        self._taken.add(found)
        return found


def _predecessor(
    name: str, old: str | None, known: Mapping[str, _Known], living: set[str]
) -> _Known | None:
    if name in known:
        return known[name]
    if old is not None and old not in living:
        return known.get(old)
    return None
