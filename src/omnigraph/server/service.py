"""The state that all requests of one server share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.server.admission import Admission
    from omnigraph.server.metrics import Metrics
    from omnigraph.server.pools import Pools
    from omnigraph.server.registry import Registry
    from omnigraph.server.settings import ServerLimits

__all__ = ["ServerAccess", "Service"]


class ServerAccess(StrEnum):
    """The access mode of a server."""

    # No tokens: every caller may do everything except list the graphs.
    OPEN = "open"
    # Tokens without a policy: authenticated actors may read.
    DEFAULT_DENY = "default_deny"
    # Tokens and a policy: the policy decides.
    POLICY = "policy"


@dataclass(slots=True)
class Service:
    """The graphs, access rules, thread pools and metrics."""

    registry: Registry
    access: ServerAccess
    limits: ServerLimits
    pools: Pools
    admission: Admission
    metrics: Metrics
    # The encoded OpenAPI document.
    document: bytes
    stopping: bool = False
