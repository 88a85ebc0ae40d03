"""Executing queries.

``budget`` bounds what a query may cost, ``result`` is what it answers. The values that it computes
are defined in ``omnigraph.semantics``.
"""

from omnigraph.runtime.budget import Budget
from omnigraph.executor.result import QueryResult, ReadTarget
from omnigraph.runtime.cancellation import Cancellation

__all__ = ["Budget", "Cancellation", "QueryResult", "ReadTarget"]
