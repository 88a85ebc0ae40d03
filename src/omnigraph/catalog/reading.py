"""Read JSON objects strictly: no unknown keys, no missing keys, exact types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

from omnigraph.errors import SchemaFailure

if TYPE_CHECKING:
    from types import TracebackType

    from omnigraph.catalog.model import AnnotationValue

__all__ = ["StrictReader", "malformed"]


def malformed(path: str, reason: str) -> SchemaFailure:
    """Return the error of an invalid stored catalog."""
    return SchemaFailure(
        "catalog.malformed",
        f"cannot read the stored schema: {path} {reason}",
        details={"path": path},
        remedy="the file is corrupt or from another program; restore it from a backup",
    )


class StrictReader:
    """A JSON object; as a context manager it refuses keys that were not read."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise malformed(path, "is not an object")
        self._value: dict[str, Any] = value
        self._path = path
        self._read: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        unknown = sorted(self._value.keys() - self._read)
        if kind is None and unknown:
            raise malformed(self._path, f"has an unknown key {unknown[0]!r}")

    def has(self, key: str) -> bool:
        """Return whether an optional key is present."""
        return key in self._value

    def any(self, key: str) -> tuple[str, Any]:
        """Return a value of any type, with its path."""
        self._read.add(key)
        path = f"{self._path}.{key}"
        if key not in self._value:
            raise malformed(path, "is missing")
        return path, self._value[key]

    def text(self, key: str) -> str:
        path, value = self.any(key)
        return _text(path, value)

    def optional_text(self, key: str) -> str | None:
        path, value = self.any(key)
        return None if value is None else _text(path, value)

    def boolean(self, key: str) -> bool:
        path, value = self.any(key)
        if not isinstance(value, bool):
            raise malformed(path, "is not true or false")
        return value

    def integer(self, key: str) -> int:
        path, value = self.any(key)
        return _integer(path, value)

    def bound(self, key: str) -> int | float | None:
        """Return a finite number, or None."""
        path, value = self.any(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise malformed(path, "is not a number")
        if not math.isfinite(value):
            raise malformed(path, "is not finite")
        return value

    def objects(self, key: str) -> list[StrictReader]:
        path, items = self._list(key)
        return [StrictReader(item, f"{path}[{index}]") for index, item in enumerate(items)]

    def texts(self, key: str) -> tuple[str, ...]:
        path, items = self._list(key)
        return tuple(_text(path, item) for item in items)

    def optional_texts(self, key: str) -> tuple[str, ...] | None:
        _, value = self.any(key)
        return None if value is None else self.texts(key)

    def text_lists(self, key: str) -> tuple[tuple[str, ...], ...]:
        path, items = self._list(key)
        if not all(isinstance(item, list) for item in items):
            raise malformed(path, "is not a list of lists")
        return tuple(tuple(_text(path, each) for each in item) for item in items)

    def scalars(self, key: str) -> tuple[AnnotationValue, ...]:
        path, items = self._list(key)
        return tuple(_scalar(path, item) for item in items)

    def pairs(self, key: str) -> tuple[tuple[str, AnnotationValue], ...]:
        path, items = self._list(key)
        found = []
        for item in items:
            if not isinstance(item, list) or len(item) != 2:
                raise malformed(path, "is not a list of pairs")
            found.append((_text(path, item[0]), _scalar(path, item[1])))
        return tuple(found)

    def cardinality(self, key: str) -> tuple[int, int | None]:
        path, items = self._list(key)
        if len(items) != 2:
            raise malformed(path, "is not a pair")
        return _integer(path, items[0]), None if items[1] is None else _integer(path, items[1])

    def _list(self, key: str) -> tuple[str, list[Any]]:
        path, value = self.any(key)
        if not isinstance(value, list):
            raise malformed(path, "is not a list")
        return path, value


def _text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise malformed(path, "is not a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise malformed(path, "is not Unicode") from None
    return value


def _integer(path: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise malformed(path, "is not an integer")
    return value


def _scalar(path: str, value: Any) -> AnnotationValue:
    if not isinstance(value, str | bool | int | float):
        raise malformed(path, "is not a scalar")
    return _text(path, value) if isinstance(value, str) else value
