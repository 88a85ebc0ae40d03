"""The error tree of OmniGraph.

A class exists only where the caller acts differently; everything else is a stable ``code``.

::

    GraphError(code, message, details, remedy)
      InvalidInput          fix the request
        SyntaxFailure         text that does not parse
        TypeFailure           a query that does not fit the schema
        SchemaFailure         a schema or a schema change that cannot be accepted
        ValidationFailure     data that breaks a rule of the schema
      NotFound
      AlreadyExists
      Forbidden             policy refused it
      Unsupported           upgrade, or choose another way
      Conflict              re-read and re-prepare
        StaleHead             the branch moved and the attempt may not be retried for you
        PinChanged            a table that the attempt wrote or read has moved
        KeyConflict           a strict insert met an existing id
        PreconditionFailed    ``if_commit`` lost
        OperationVoid         recovery declared this operation void while it was paused
        MergeConflict
      LimitExceeded         reshape the request
      OutcomeUnknown        may have landed: resolve by commit id, never clean up
      StorageFault          wraps what an adapter raised
    InvariantBroken(INV-n)  a bug: stop

HTTP statuses live in ``server``, exit codes in ``cli``: an error knows neither.
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
    """Anything that OmniGraph reports to its user.

    ``code`` is append-only and safe to match on; ``details`` is JSON-serialisable; ``remedy`` says
    what to do next, when there is something to do.
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
        """The error as every ``--json`` output and the server's body show it."""
        body: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.remedy:
            body["remedy"] = self.remedy
        if self.details:
            body["details"] = self.details
        return body


class InvalidInput(GraphError):
    """The request itself is wrong; repeating it cannot help."""


class SyntaxFailure(InvalidInput):
    """Text that does not parse."""


class TypeFailure(InvalidInput):
    """A query that does not fit the schema, or parameters that do not fit the query."""


class SchemaFailure(InvalidInput):
    """A schema that is not well formed, or a schema change that is refused."""


class ValidationFailure(InvalidInput):
    """Data that breaks a rule of the schema; ``details["violations"]`` lists them."""


class NotFound(GraphError):
    """A named thing does not exist."""


class AlreadyExists(GraphError):
    """A named thing exists already."""


class Forbidden(GraphError):
    """Policy refused the operation."""


class Unsupported(GraphError):
    """This build cannot do it."""


class Conflict(GraphError):
    """The graph moved: read again and prepare again."""


class StaleHead(Conflict):
    """The branch has a newer head than the attempt was prepared on."""


class PinChanged(Conflict):
    """A table that the attempt wrote or read has another pin now."""


class KeyConflict(Conflict):
    """A strict insert met an id that exists; ``details["ids"]`` names them."""


class PreconditionFailed(Conflict):
    """The caller's ``if_commit`` is no longer the head."""


class OperationVoid(Conflict):
    """Recovery declared this operation void while its writer was paused; it had no effect."""


class MergeConflict(Conflict):
    """Two branches disagree; ``details["merge_conflicts"]`` lists where."""


class LimitExceeded(GraphError):
    """A configured limit would be exceeded; nothing was written."""


class OutcomeUnknown(GraphError):
    """The commit may have landed. Look for ``details["commit_id"]`` before doing anything else."""


class StorageFault(GraphError):
    """The storage below failed; ``__cause__`` holds what it said."""


class InvariantBroken(Exception):
    """A rule of docs/invariants.md does not hold: a bug. Nothing may be published after it."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"INV-{number}: {message}")
        self.number = number
