"""The codes of syntax errors in ``.gq``, and the limits that guard the parser.

Codes are append-only: people and tools match on them.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "MAX_ARGUMENTS",
    "MAX_ASSIGNMENTS",
    "MAX_CLAUSES",
    "MAX_CONDITIONS",
    "MAX_DIAGNOSTICS",
    "MAX_LIST_ITEMS",
    "MAX_PARAMS",
    "MAX_PROJECTIONS",
    "MAX_QUERIES",
    "MAX_STAGES",
    "MAX_STATEMENTS",
    "MAX_VECTOR_DIM",
    "SyntaxProblem",
]

MAX_QUERIES = 10_000
MAX_PARAMS = 1_000
MAX_CLAUSES = 1_000
MAX_CONDITIONS = 10_000
MAX_PROJECTIONS = 1_000
MAX_ASSIGNMENTS = 1_000
MAX_STATEMENTS = 1_000
MAX_LIST_ITEMS = 10_000
MAX_ARGUMENTS = 1_000
MAX_STAGES = 50
MAX_VECTOR_DIM = 65_536
# A text with more errors than this is not a query file; the rest is not reported.
MAX_DIAGNOSTICS = 20


class SyntaxProblem(StrEnum):
    """The codes of syntax errors of a query."""

    UNEXPECTED = "Q000"
    DUPLICATE_QUERY = "Q001"
    DUPLICATE_PARAM = "Q002"
    MIXED_MUTATION = "Q003"
    TOO_DEEP = "Q004"
    TOO_MANY = "Q005"
    INTEGER_RANGE = "Q006"
    BAD_DATE = "Q007"
    RESERVED_NAME = "Q008"
    NULL_VALUE = "Q009"
    ANNOTATION = "Q010"
    NOT_A_CONDITION = "Q011"
    PATTERN_IN_CONDITION = "Q012"
    UNKNOWN_WORD = "Q013"
    ARGUMENTS = "Q014"
    PARAM_TYPE = "Q015"
    MISPLACED = "Q016"
