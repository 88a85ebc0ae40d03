"""Parts of request bodies, queries and headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.targets import Target, is_branch_target, target_text
from omnigraph.api.wire_values import to_wire
from omnigraph.client.failures import not_served
from omnigraph.client.results import ARROW_FIRST
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.api.schemas import DesiredSchema
    from omnigraph.runtime.budget import Budget

__all__ = [
    "ARROW_HEADERS",
    "choices_body",
    "encoded_params",
    "query_body",
    "query_lists",
    "schema_body",
    "target_body",
    "write_headers",
]


ARROW_HEADERS = {"Accept": ARROW_FIRST}


def target_body(target: Target) -> dict[str, str]:
    """Encode a target."""
    text = target_text(target)
    return {"branch" if is_branch_target(text) else "snapshot": text}


def write_headers(
    if_commit: str | None, idempotency_key: str | None, *, dry_run: bool
) -> dict[str, str]:
    headers = {}
    if if_commit is not None:
        headers["Omnigraph-If-Graph-Commit"] = if_commit
    if not dry_run or idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key or new_ulid()
    return headers


def encoded_params(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_wire(value) for name, value in params.items()}


def schema_body(wanted: DesiredSchema, branch: str) -> dict[str, Any]:
    return {
        "schema_source": wanted.text,
        "branch": branch,
        "allow_data_loss": wanted.allow_data_loss,
        "backfill": dict(wanted.backfill),
    }


def choices_body(
    strategy: str | None, resolutions: Sequence[Mapping[str, Any]] | None
) -> dict[str, Any]:
    """Encode the resolution of conflicts."""
    return {
        "strategy": strategy,
        "resolutions": None if resolutions is None else list(resolutions),
    }


def query_lists(said: Mapping[str, Any]) -> dict[str, Any]:
    """Encode sequences as lists, whose items become repeated parameters."""
    return {
        key: list(value) if not isinstance(value, str) else value for key, value in said.items()
    }


def query_body(
    target: str,
    text: str,
    params: Mapping[str, Any] | None,
    name: str | None,
    traversal: str | None,
    budget: Budget | None = None,
) -> dict[str, Any]:
    asked = {
        "query": text,
        "name": name,
        "traversal": traversal,
        "budget": None if budget is None else _limits(budget),
        **target_body(target),
    }
    return asked if params is None else {**asked, "params": encoded_params(params)}


def _limits(budget: Budget) -> dict[str, Any]:
    """Encode a budget; the server applies the tighter of this and its own."""
    if budget.cancellation is not None:
        # Omitting it silently would change the behaviour of the request.
        raise not_served("cancellation tokens (cancel by id with `operations`)")
    limits = {"rows": budget.rows, "seconds": budget.seconds, "memory_bytes": budget.memory_bytes}
    return {name: limit for name, limit in limits.items() if limit is not None}
