"""The handlers of the operations, one module per resource; ``OPERATIONS`` lists all of them.

Modules in reading order:

- ``server``: health, readiness, metrics, and the served graphs.
- ``graph``: the status of a graph, and the datasets of a target.
- ``query``, ``mutate``, ``stored``: queries, mutations and stored queries.
- ``load``, ``export``, ``blob``: data.
- ``schema``: the schema.
- ``branches``, ``tags``, ``commits``, ``changes``: versions.
- ``running``: running queries, exports and writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.server.operations import ApiOperation
from omnigraph.server.routes import (
    blob,
    branches,
    changes,
    commits,
    export,
    graph,
    load,
    mutate,
    query,
    running,
    schema,
    server,
    stored,
    tags,
)

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["OPERATIONS"]

_MODULES: tuple[ModuleType, ...] = (
    server,
    graph,
    query,
    mutate,
    stored,
    load,
    export,
    blob,
    schema,
    branches,
    tags,
    commits,
    changes,
    running,
)

OPERATIONS: tuple[ApiOperation, ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, ApiOperation)
)
