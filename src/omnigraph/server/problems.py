"""Converts errors to statuses and bodies.

``code`` is the coarse, closed vocabulary of the interface; ``reason`` is the fine, stable code of
the error. A body has at most one detail object, named by its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CODES", "HttpProblem", "problem_of"]

CODES: dict[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "bad_request",
    409: "conflict",
    411: "bad_request",
    413: "bad_request",
    414: "bad_request",
    415: "bad_request",
    416: "bad_request",
    429: "too_many_requests",
    431: "bad_request",
    500: "internal",
}


class HttpProblem(Exception):
    """An unsuccessful response."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        remedy: str | None = None,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.remedy = remedy
        # Detail objects and further details, as the body holds them.
        self.more = dict(more or {})
        self.headers = dict(headers or {})

    def body(self, request_id: str) -> dict[str, Any]:
        body: dict[str, Any] = {"error": self.message}
        if self.status in CODES:
            body["code"] = CODES[self.status]
        body["reason"] = self.reason
        if self.remedy:
            body["remedy"] = self.remedy
        body["request_id"] = request_id
        return {**body, **self.more}


def problem_of(error: BaseException) -> HttpProblem:
    """Convert an error to a response.

    The text of an internal error is withheld: it may name paths and data that the caller must not
    see.
    """
    match error:
        case HttpProblem():
            return error
        case errors.StorageFault() if error.code.startswith("embed."):
            # A fault of the provider; its messages name neither addresses nor texts.
            return HttpProblem(500, error.code, error.message, remedy=error.remedy)
        case errors.StorageFault():
            return _internal(error.code, "the storage of the graph is not available")
        case GraphError():
            return HttpProblem(
                _status_of(error),
                error.code,
                error.message,
                remedy=error.remedy,
                more=_details_of(error),
                headers={"Retry-After": "1"} if isinstance(error, errors.OutcomeUnknown) else None,
            )
        case _:
            return _internal("internal", "internal server error")


def _internal(reason: str, message: str) -> HttpProblem:
    return HttpProblem(
        500,
        reason,
        message,
        remedy="report the request id to the operator; the log has the details",
    )


# The first matching class decides.
_STATUSES: tuple[tuple[type[GraphError], int], ...] = (
    (errors.PreconditionFailed, 412),
    (errors.Conflict, 409),
    (errors.AlreadyExists, 409),
    (errors.NotFound, 404),
    (errors.Forbidden, 403),
    (errors.LimitExceeded, 413),
    (errors.OutcomeUnknown, 503),
    (errors.InvalidInput, 400),
    (errors.Unsupported, 400),
)
_STATUS_OF_CODE = {
    # An exceeded time budget is a timeout; the other budgets are properties of the request.
    "query.time_limit": 504,
    "change_feed.gap": 410,
    "snapshot.reclaimed": 410,
    "query.cancelled": 409,
    "operation.cancelled": 409,
}


def _status_of(error: GraphError) -> int:
    if error.code in _STATUS_OF_CODE:
        return _STATUS_OF_CODE[error.code]
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


_NAMED = ("merge_conflicts", "resource_limit", "change_feed_gap")


def _details_of(error: GraphError) -> dict[str, Any]:
    """Return the detail object of an error, and its other details."""
    details = dict(error.details)
    named: dict[str, Any] = {}
    match error:
        case errors.PreconditionFailed():
            named = {"precondition_failure": details}
        case errors.PinChanged() if "table_key" in details:
            named = _moved_table(details)
        case errors.StaleHead() if "expected" in details:
            named = {"read_set_conflict": {"member": "schema", **details}}
        case errors.KeyConflict():
            ids = details.get("ids") or [None]
            told = {
                "entity_kind": details.get("entity_kind"),
                "type_name": details.get("type_name"),
                "entity_id": ids[0],
            }
            named = {
                "key_conflict": {key: value for key, value in told.items() if value is not None},
                "details": details,
            }
        case errors.OutcomeUnknown():
            named = {
                "outcome_unknown": {"graph_commit_id": details.get("commit_id")},
                "details": details,
            }
        case _:
            return _plain_details(details)
    return {key: value for key, value in named.items() if value}


def _moved_table(details: dict[str, Any]) -> dict[str, Any]:
    """The same fact under the two names that clients of the contract look for."""
    kind, _, name = str(details["table_key"]).partition(":")
    return {
        "manifest_conflict": details,
        "published_dataset_version_conflict": {
            "entity_kind": kind,
            "type_name": name,
            "expected_published_dataset_version": details.get("expected"),
            "actual_published_dataset_version": details.get("actual"),
        },
    }


def _plain_details(details: dict[str, Any]) -> dict[str, Any]:
    named = {key: details.pop(key) for key in _NAMED if key in details}
    return {**named, "details": details} if details else named
