"""The schema of a table in Lance: fields with ids.

Lance finds a column in its files by field id, not by name. A table gets another schema without
being rewritten when kept columns keep their ids and new ones get ids that this version has never
used; an id without a file reads as NULL.

The binding converts a schema to its stored fields and back, and numbers a new one from 0, depth
first. A field with a chosen id is therefore created behind as many padding fields.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["FieldLayout", "field_numbers", "reshape"]


@frozen
class FieldLayout:
    """A schema with field ids, in a form that crosses processes."""

    metadata: str
    fields: tuple[bytes, ...]

    def to_json(self) -> dict[str, Any]:
        stored = [base64.b64encode(field).decode() for field in self.fields]
        return {"metadata": self.metadata, "fields": stored}

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> FieldLayout:
        return FieldLayout(
            body["metadata"], tuple(base64.b64decode(field) for field in body["fields"])
        )

    def to_lance(self) -> Any:
        schema = load_lance().schema.LanceSchema
        return schema._from_protos(self.metadata, *self.fields)  # noqa: SLF001 - as it pickles


def reshape(
    dataset: Any, schema: pa.Schema, *, kept: Collection[str], first: Sequence[str]
) -> tuple[FieldLayout, dict[str, tuple[int, ...]]]:
    """Return ``schema`` with field ids on top of a dataset, and the ids of its new columns.

    ``kept`` columns keep their ids. The others are new, even under an existing name; those in
    ``first`` are numbered first, in this order.
    """
    later = [name for name in schema.names if name not in kept and name not in first]
    fresh = [schema.field(name) for name in (*first, *later)]
    metadata, stored = _take_apart(dataset.lance_schema)
    made, numbers = _numbered_from(dataset.max_field_id + 1, fresh)
    fields = [field for name in schema.names for field in (stored if name in kept else made)[name]]
    return FieldLayout(metadata, tuple(fields)), numbers


def field_numbers(schema: Any) -> dict[str, tuple[int, ...]]:
    """Return the field ids of each column, those of nested fields included."""
    return {field.name(): tuple(each.id() for each in _walk(field)) for field in schema.fields()}


def _numbered_from(
    start: int, fields: Sequence[pa.Field]
) -> tuple[dict[str, list[bytes]], dict[str, tuple[int, ...]]]:
    padding = [pa.field(f"__{number}", pa.bool_()) for number in range(start)]
    schema = load_lance().schema.LanceSchema.from_pyarrow(pa.schema([*padding, *fields]))
    _, stored = _take_apart(schema)
    numbers = field_numbers(schema)
    names = [field.name for field in fields]
    return {name: stored[name] for name in names}, {name: numbers[name] for name in names}


def _take_apart(schema: Any) -> tuple[str, dict[str, list[bytes]]]:
    """Return the stored form: the metadata, and the fields of each column, depth first."""
    _, (metadata, *stored) = schema.__reduce__()
    remaining = iter(stored)
    columns = {field.name(): [next(remaining) for _ in _walk(field)] for field in schema.fields()}
    return metadata, columns


def _walk(field: Any) -> Iterator[Any]:
    yield field
    for child in field.children():
        yield from _walk(child)
