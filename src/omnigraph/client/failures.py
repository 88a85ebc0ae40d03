"""Reconstructs errors from response bodies.

The status selects the class of the error, the ``reason`` is its code, and a detail object
distinguishes the kinds of error that share a status.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["class_of", "error_of", "not_served"]

_CLASSES: dict[int, type[GraphError]] = {
    400: errors.InvalidInput,
    401: errors.Forbidden,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: errors.Unsupported,
    408: errors.LimitExceeded,
    409: errors.Conflict,
    410: errors.NotFound,
    411: errors.InvalidInput,
    412: errors.PreconditionFailed,
    413: errors.LimitExceeded,
    414: errors.LimitExceeded,
    415: errors.InvalidInput,
    416: errors.InvalidInput,
    424: errors.NotFound,
    429: errors.LimitExceeded,
    431: errors.LimitExceeded,
    504: errors.LimitExceeded,
}
# The first pattern that matches the code decides, among those with its status.
_PATTERNS: tuple[tuple[int, str, type[GraphError]], ...] = (
    (400, r"[QP][0-9]{3}", errors.SyntaxFailure),
    (400, r"(T[0-9]{1,3}|param\..*)", errors.TypeFailure),
    (400, r"(S[0-9]{3}|OG-.*|schema\..*|catalog\..*)", errors.SchemaFailure),
    (400, r"data\..*", errors.ValidationFailure),
    (
        400,
        r"(graph\.(newer_format|read_only)|mutation\.beyond_the_row|result\..*_missing"
        r"|embed\.(no_key|not_installed)|search\.no_embedder|table\.newer_format|uri\.unsupported)",
        errors.Unsupported,
    ),
    (409, r".*\.exists", errors.AlreadyExists),
    (409, r"(query|operation)\.cancelled", GraphError),
    (409, r"merge\.conflicts", errors.MergeConflict),
    (409, r"(publish\.(contended|stale)|recovery\.contended)", errors.StaleHead),
    (409, r"pin\.changed", errors.PinChanged),
    (409, r"(attempt\.given_up|operation\.void)", errors.OperationVoid),
    (503, r".*(outcome_unknown|deletion_unknown)", errors.OutcomeUnknown),
)
# The names under which a body holds the details of an error.
_FLAT = ("precondition_failure", "manifest_conflict")
_NAMED = ("merge_conflicts", "resource_limit", "change_feed_gap")


def not_served(what: str) -> errors.Unsupported:
    """Return the error of a method that only embedded graphs support."""
    return errors.Unsupported(
        "client.not_served",
        f"a server does not support {what}",
        remedy="open the storage of the graph instead",
    )


def error_of(status: int, body: Any, request_id: str | None = None) -> GraphError:
    """Return the error of an unsuccessful response."""
    if not isinstance(body, dict) or "error" not in body:
        return errors.StorageFault(
            "client.bad_answer",
            f"unexpected response from the server (HTTP status {status})",
            details={"status": status},
            remedy="check that the address is that of an OmniGraph server, and not of a proxy",
        )
    code = str(body.get("reason") or body.get("code") or "internal")
    details = _details(body)
    if request_id is not None and status >= 500:
        details["request_id"] = request_id
    return class_of(status, code, body)(
        code, str(body["error"]), details=details, remedy=body.get("remedy")
    )


def class_of(status: int, code: str, body: Mapping[str, Any]) -> type[GraphError]:
    """Return the error class for a status, detail object and code."""
    if "key_conflict" in body or code == "key.exists":
        return errors.KeyConflict
    if "outcome_unknown" in body:
        return errors.OutcomeUnknown
    if "read_set_conflict" in body:
        return errors.StaleHead
    for known, pattern, kind in _PATTERNS:
        if status == known and re.fullmatch(pattern, code):
            return kind
    return _CLASSES.get(status, errors.StorageFault)


def _details(body: Mapping[str, Any]) -> dict[str, Any]:
    details = dict(body.get("details") or {})
    for name in _FLAT:
        details |= body.get(name) or {}
    for name in _NAMED:
        if name in body:
            details[name] = body[name]
    moved = dict(body.get("read_set_conflict") or {})
    moved.pop("member", None)
    return details | moved
