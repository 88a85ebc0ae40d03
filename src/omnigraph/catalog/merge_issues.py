"""Define the conflicts of a schema merge and the preferences that resolve them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import EntityType, TypeId

__all__ = ["IssueKind", "Preferences", "SchemaConflict", "SchemaIssue"]


class IssueKind(StrEnum):
    """Kinds of conflicts that a preference for one side resolves."""

    # Both sides changed one definition differently.
    CONFLICT = "clash"
    # One side dropped a type or property that the other one uses.
    DROP = "drop"
    # Both sides use one name for different types.
    NAME = "name"
    # Not resolvable by a preference: one of the schemas has to be changed first.
    UNRESOLVABLE = ""


class SchemaIssue(NamedTuple):
    """The subject of a conflict: a type and the part of it.

    ``part`` describes the part; for a drop it is the identity of the property. Empty means the
    whole type."""

    decides: IssueKind
    type: TypeId
    part: str = ""


# Chosen sides: True for theirs, False for ours.
Preferences: TypeAlias = "Mapping[SchemaIssue, bool]"


@frozen
class SchemaConflict:
    """A conflict between the two schemas."""

    entity: EntityType
    description: str
    issue: SchemaIssue
