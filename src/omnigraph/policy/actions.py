"""Define the actions of a policy and the scopes that apply to each."""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "BRANCH_ACTIONS",
    "GRAPH_ACTIONS",
    "SERVER_ACTIONS",
    "TARGET_ACTIONS",
    "TYPED_ACTIONS",
    "Action",
]


class Action(StrEnum):
    """Actions that require authorisation.

    ``read``, ``export`` and ``change`` apply to a branch. ``branch_create`` and ``branch_merge``
    have a source and a target branch; ``branch_delete`` and ``schema_apply`` have a target only.
    Creating and deleting a tag are ``branch_create`` and ``branch_delete``. Maintenance, recovery
    and operations of other actors are ``admin``.
    """

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    BRANCH_CREATE = "branch_create"
    BRANCH_MERGE = "branch_merge"
    BRANCH_DELETE = "branch_delete"
    SCHEMA_APPLY = "schema_apply"
    INVOKE_QUERY = "invoke_query"
    ADMIN = "admin"
    GRAPH_LIST = "graph_list"


# The actions that each scope of a rule applies to.
BRANCH_ACTIONS = frozenset({Action.READ, Action.EXPORT, Action.CHANGE})
TARGET_ACTIONS = frozenset(
    {Action.BRANCH_CREATE, Action.BRANCH_MERGE, Action.BRANCH_DELETE, Action.SCHEMA_APPLY}
)
TYPED_ACTIONS = frozenset({Action.READ, Action.EXPORT, Action.CHANGE})
# A bundle governs a graph or a server, never both.
SERVER_ACTIONS = frozenset({Action.GRAPH_LIST})
GRAPH_ACTIONS = frozenset(Action) - SERVER_ACTIONS
