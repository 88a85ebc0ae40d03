"""Executing queries.

``naive`` evaluates the IR as it is defined, row by row, and is the oracle of everything faster.
``text`` defines words and relevance, ``budget`` bounds what a query may cost, ``result`` is what it
answers.
"""

from omnigraph.executor.budget import Budget
from omnigraph.executor.result import QueryResult, ReadTarget
from omnigraph.runtime.cancellation import Cancellation

__all__ = ["Budget", "Cancellation", "QueryResult", "ReadTarget"]
