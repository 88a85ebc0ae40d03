"""The error tree of OmniGraph.

A class exists only where the caller acts differently; everything else is a stable ``code``.

::

    GraphError(code, message, details, remedy)
      InvalidInput          fix the request
        SyntaxFailure         text that does not parse
        TypeFailure           a query that does not match the schema
        SchemaFailure         a schema or a schema change that cannot be accepted
        ValidationFailure     data that violates a constraint of the schema
      NotFound
      AlreadyExists
      Forbidden             the policy denies it
      Unsupported           upgrade, or use an alternative
      Conflict              read again and retry
        StaleHead             the branch advanced, and no automatic retry is safe
        PinChanged            a table of the read or write set has changed
        KeyConflict           a strict insert met an existing id
        PreconditionFailed    the branch is not at ``if_commit``
        OperationVoid         recovery declared the operation void while it was paused
        MergeConflict
      LimitExceeded         reshape the request
      OutcomeUnknown        may be published: resolve by commit id, never clean up
      StorageFault          wraps an error of the storage
    InvariantBroken(INV-n)  a bug: stop

``server`` maps errors to HTTP statuses, ``cli`` to exit codes.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AlreadyExists",
    "Conflict",
    "Forbidden",
    "GraphError",
    "InvalidInput",
    "InvariantBroken",
    "KeyConflict",
    "LimitExceeded",
    "MergeConflict",
    "NotFound",
    "OperationVoid",
    "OutcomeUnknown",
    "PinChanged",
    "PreconditionFailed",
    "SchemaFailure",
    "StaleHead",
    "StorageFault",
    "SyntaxFailure",
    "TypeFailure",
    "Unsupported",
    "ValidationFailure",
]


class GraphError(Exception):
    """An error that OmniGraph reports to its user.

    ``code`` is append-only and safe to match on; ``details`` is JSON-serialisable; ``remedy``
    recommends an action, where there is one.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = details or {}
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\n  help: {self.remedy}" if self.remedy else text

    def to_json(self) -> dict[str, Any]:
        """Encode the error for ``--json`` and for the HTTP body."""
        body: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.remedy:
            body["remedy"] = self.remedy
        if self.details:
            body["details"] = self.details
        return body


class InvalidInput(GraphError):
    """The request is invalid; repeating it cannot help."""


class SyntaxFailure(InvalidInput):
    """The text does not parse."""


class TypeFailure(InvalidInput):
    """The query does not match the schema, or the parameters do not match the query."""


class SchemaFailure(InvalidInput):
    """The schema is not well formed, or the schema change is refused."""


class ValidationFailure(InvalidInput):
    """The data violates constraints of the schema, listed in ``details["violations"]``."""


class NotFound(GraphError):
    """A named object does not exist."""


class AlreadyExists(GraphError):
    """A named object exists already."""


class Forbidden(GraphError):
    """The policy denies the operation."""


class Unsupported(GraphError):
    """This build does not support the operation."""


class Conflict(GraphError):
    """The graph has changed concurrently: read it again and retry."""


class StaleHead(Conflict):
    """The branch has a newer head than the transaction captured."""


class PinChanged(Conflict):
    """A table in the read or write set of the transaction has another pin now."""


class KeyConflict(Conflict):
    """A strict insert of an id that exists; ``details["ids"]`` lists the ids."""


class PreconditionFailed(Conflict):
    """The commit of ``if_commit`` is no longer the head."""


class OperationVoid(Conflict):
    """Recovery declared this operation void while its writer was paused; it had no effect."""


class MergeConflict(Conflict):
    """Two branches conflict; ``details["merge_conflicts"]`` lists the conflicts."""


class LimitExceeded(GraphError):
    """A configured limit would be exceeded; nothing was written."""


class OutcomeUnknown(GraphError):
    """The commit may have been published. Look up ``details["commit_id"]`` before any retry."""


class StorageFault(GraphError):
    """The storage failed; ``__cause__`` holds its error."""


class InvariantBroken(Exception):
    """An invariant of docs/invariants.md is violated: a bug. Nothing may be published after it."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"INV-{number}: {message}")
        self.number = number
