"""Type inference: the narrowest type that accepts all values of a column."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any

from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    INTEGER_RANGES,
    MAX_VECTOR_DIM,
    STRING,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)

__all__ = ["ObservedColumn", "ObservedType", "read_cell"]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
_BOOLS = {"true": True, "false": False}
# Shorter lists of numbers are more likely lists than embeddings.
_VECTOR_DIM_MIN = 8


def read_cell(text: str) -> Any:
    """Convert a CSV cell to the value that it resembles; an empty one is NULL."""
    if text == "":
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


@dataclass(slots=True)
class ObservedColumn:
    """The observed values of one property."""

    scalars: set[Scalar] = field(default_factory=set)
    items: set[Scalar] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    nested: bool = False
    present: int = 0
    largest: int = 0
    values: set[Any] = field(default_factory=set)
    repeats: bool = False
    # Whether every value was text, as in CSV: then String accepts any mixture.
    textual: bool = False

    def observe(self, value: Any) -> None:
        """Observe one more value; NULL is ignored."""
        if value is None:
            return
        self.present += 1
        if isinstance(value, list | tuple):
            self.lengths.add(len(value))
            for item in value:
                self._observe_item(item)
            self.repeats = True
        elif isinstance(value, dict):
            self.nested = self.repeats = True
        else:
            self.scalars.add(_scalar_of(value))
            if isinstance(value, int):
                self.largest = max(self.largest, value)
            self._add_value(value)

    def _observe_item(self, item: Any) -> None:
        if item is None or isinstance(item, list | tuple | dict):
            self.nested = True
        else:
            self.items.add(_scalar_of(item))

    def _add_value(self, value: Any) -> None:
        self.repeats = self.repeats or value in self.values
        self.values.add(value)

    @property
    def type(self) -> DataType | None:
        """Return the type that accepts every value; None if ``.pg`` has none."""
        if self.nested or (self.scalars and self.lengths):
            return None
        if self.lengths:
            return self._list_type()
        wide = self.largest > INTEGER_RANGES[Scalar.I64][1]
        if wide and self.scalars == {Scalar.I64}:
            return ScalarType(Scalar.U64)
        return _join(self.scalars) or (STRING if self.textual else None)

    def _list_type(self) -> DataType | None:
        item = _join(self.items)
        if not isinstance(item, ScalarType):
            return None
        numbers = self.items <= {Scalar.I64, Scalar.F64} and Scalar.F64 in self.items
        dim = next(iter(self.lengths))
        if numbers and len(self.lengths) == 1 and _VECTOR_DIM_MIN <= dim <= MAX_VECTOR_DIM:
            return VectorType(dim)
        return ListType(item.scalar)


@dataclass(slots=True)
class ObservedType:
    """The observed values of one type of entity."""

    name: str
    count: int = 0
    columns: dict[str, ObservedColumn] = field(default_factory=dict)
    ids: set[Any] = field(default_factory=set)
    # The ends of an edge; None for a node.
    ends: tuple[set[Any], set[Any]] | None = None
    textual: bool = False

    def observe(self, values: dict[str, Any]) -> None:
        self.count += 1
        for name, value in values.items():
            if name not in self.columns:
                self.columns[name] = ObservedColumn(textual=self.textual)
            self.columns[name].observe(value)

    def is_optional(self, name: str) -> bool:
        return self.columns[name].present < self.count


def _scalar_of(value: Any) -> Scalar:
    match value:
        case bool():
            return Scalar.BOOL
        case int():
            return Scalar.I64
        case float():
            return Scalar.F64
        case dt.datetime():
            return Scalar.DATETIME
        case dt.date():
            return Scalar.DATE
        case bytes():
            return Scalar.BLOB
        case str():
            return _scalar_of_text(value)
        case _:
            return Scalar.STRING


def _scalar_of_text(text: str) -> Scalar:
    try:
        if _DATE.fullmatch(text):
            dt.date.fromisoformat(text)
            return Scalar.DATE
        if _DATETIME.fullmatch(text):
            dt.datetime.fromisoformat(text)
            return Scalar.DATETIME
    except ValueError:
        return Scalar.STRING
    return Scalar.STRING


def _join(seen: set[Scalar]) -> DataType | None:
    """Return the common type of several scalars; String if no value was seen."""
    if not seen:
        return STRING
    if seen == {Scalar.I64, Scalar.F64}:
        return F64
    if len(seen) == 1:
        known = {Scalar.BOOL: BOOL, Scalar.I64: I64, Scalar.DATE: DATE, Scalar.DATETIME: DATETIME}
        only = next(iter(seen))
        return known.get(only, ScalarType(only))
    return STRING if seen <= {Scalar.STRING, Scalar.DATE, Scalar.DATETIME} else None
