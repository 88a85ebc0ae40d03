"""The actions that a policy knows, and what a rule may say about each."""

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
    """What an actor wants to do.

    ``read``, ``export`` and ``change`` are about a branch. ``branch_create`` and ``branch_merge``
    go from a branch to a target; ``branch_delete`` and ``schema_apply`` are about a target only.
    Tags are branches that do not move, so making and deleting one are ``branch_create`` and
    ``branch_delete``. Upkeep, recovery and other people's operations are ``admin``.
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


# Which of them a scope of a rule can speak about.
BRANCH_ACTIONS = frozenset({Action.READ, Action.EXPORT, Action.CHANGE})
TARGET_ACTIONS = frozenset(
    {Action.BRANCH_CREATE, Action.BRANCH_MERGE, Action.BRANCH_DELETE, Action.SCHEMA_APPLY}
)
TYPED_ACTIONS = frozenset({Action.READ, Action.EXPORT, Action.CHANGE})
# A bundle is about a graph or about a server, never about both.
SERVER_ACTIONS = frozenset({Action.GRAPH_LIST})
GRAPH_ACTIONS = frozenset(Action) - SERVER_ACTIONS
