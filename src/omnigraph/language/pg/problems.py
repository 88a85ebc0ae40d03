"""The codes of syntax errors in ``.pg``. Codes are append-only: people and tools match on them."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["SchemaSyntaxProblem"]


class SchemaSyntaxProblem(StrEnum):
    """The codes of syntax errors of a schema; the catalog checks its meaning."""

    UNEXPECTED = "P000"
    TYPE_NAME_CASE = "P001"
    PROPERTY_NAME_CASE = "P002"
    UNKNOWN_TYPE = "P003"
    LIST_ITEM = "P004"
    VECTOR_DIMENSION = "P005"
    ENUM_VALUES = "P006"
    CONSTRAINT_ARGUMENTS = "P007"
    ANNOTATION_ARGUMENTS = "P008"
    MISPLACED = "P009"
    SEPARATOR = "P010"
    UNCLOSED = "P011"
    REPEATED_CARDINALITY = "P012"
