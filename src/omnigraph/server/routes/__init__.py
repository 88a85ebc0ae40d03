"""The handlers of the operations, one module per resource; ``OPERATIONS`` lists all of them."""

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
