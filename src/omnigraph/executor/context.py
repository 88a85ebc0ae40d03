"""The context that all parts of one running query share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from omnigraph.executor.cache import ByteCache
    from omnigraph.ir.expressions import Value
    from omnigraph.runtime.budget import Meter

__all__ = ["Context"]


# Not frozen: one is made per query, and freezing costs more than the rest of it.
@dataclass(slots=True)
class Context:
    """The bound parameters, the instant of the query, what it may cost, and what is kept."""

    params: Mapping[str, Value]
    now: dt.datetime
    meter: Meter
    cache: ByteCache
