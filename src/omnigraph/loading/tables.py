"""Typing of tables with rows of one type, whose columns are named like the properties.

An ``id`` column is optional, and an edge has ``from`` and ``to`` (or ``src`` and ``dst``). Columns
are converted whole; a column that does not convert is read value by value, and rows that do not fit
become violations.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import DST, ENDPOINTS, ID, SRC, EdgeType
from omnigraph.changeset.rows import default_value, stored_properties
from omnigraph.datatypes.arrow import arrow_type, table_schema
from omnigraph.datatypes.types import STRING, Scalar, ScalarType
from omnigraph.integrity.unnamed import same_unnamed
from omnigraph.integrity.violations import Violation
from omnigraph.loading.batches import Batch, Parsed
from omnigraph.loading.cells import read_cells, read_column, utf8, validate_column
from omnigraph.loading.convert import plain
from omnigraph.loading.envelopes import unknown_property
from omnigraph.loading.identity import canonical_id, identify, key_members, key_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from omnigraph.catalog.model import EntityType, Property, PropertyId
    from omnigraph.datatypes.types import DataType
    from omnigraph.datatypes.values import ValueProblem
    from omnigraph.loading.identity import Identified

__all__ = ["check_columns", "type_rows"]

_SHOWN_MAX = 120
_WHOLE = ScalarType(Scalar.I64)
_RULES = {"value.null": "list", "value.encoding": "encoding"}


def check_columns(entity: EntityType, names: Sequence[str]) -> list[Violation]:
    """Return the violations of the columns, before any row is read."""
    known = {ID.name, *(prop.name for prop in entity.properties)}
    faults = []
    if isinstance(entity, EdgeType):
        known |= ENDPOINTS.keys()
        for end, spellings in ((SRC, ("from", "src")), (DST, ("to", "dst"))):
            given = [name for name in spellings if name in names]
            if len(given) != 1:
                what = "two columns define" if given else "no column defines"
                message = f"{what} where the edge {'begins' if end is SRC else 'ends'}"
                faults.append(_violation(entity, "envelope", message, prop=spellings[0]))
    for name in dict.fromkeys(names):
        if name not in known:
            message = unknown_property(entity, name)
            faults.append(_violation(entity, "unknown_property", message, prop=name))
        elif list(names).count(name) > 1:
            message = f"there are several columns {name!r}"
            faults.append(_violation(entity, "envelope", message, prop=name))
    return faults


def type_rows(entity: EntityType, rows: pa.RecordBatch, *, text: bool = False) -> Parsed:
    """Type the rows of a table with checked columns. ``text``: every cell is text, as in CSV."""
    typing = _Typing(entity, rows, text=text)
    batch = typing.batch()
    texts = _texts(rows, {fault.record for fault in typing.faults if fault.record is not None})
    faults = (replace(fault, text=texts.get(fault.record)) for fault in typing.faults)
    return Parsed(rows.num_rows, (batch,), (), tuple(faults))


def _texts(rows: pa.RecordBatch, places: Collection[int]) -> dict[int | None, str]:
    """Return rows that could not be typed, as JSON."""
    if not places:
        return {}
    wanted = sorted(places)
    taken = rows.take(pa.array(wanted))
    cells = zip(*(_cells(column) for column in taken.columns), strict=True)
    return {
        at: json.dumps(
            dict(zip(rows.schema.names, row, strict=True)), ensure_ascii=False, default=_spelled
        )
        for at, row in zip(wanted, cells, strict=True)
    }


def _cells(column: pa.Array) -> list[Any]:
    """Return Python values, else texts, else None for bytes that are neither."""
    for kind in (column.type, pa.string()):
        try:
            found: list[Any] = column.cast(kind).to_pylist()
        except (pa.ArrowException, ValueError, ArithmeticError):
            continue
        return found
    return [None] * len(column)


def _spelled(value: object) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


class _Typing:
    def __init__(self, entity: EntityType, rows: pa.RecordBatch, *, text: bool) -> None:
        self._entity = entity
        self._rows = rows
        self._text = text
        self._good = np.ones(rows.num_rows, dtype=bool)
        self.faults: list[Violation] = []

    def batch(self) -> Batch:
        entity = self._entity
        columns: dict[PropertyId, pa.Array] = {}
        for name, end in ENDPOINTS.items():
            if isinstance(entity, EdgeType) and name in self._rows.schema.names:
                columns[end.id] = self._ids(name)
        for prop in entity.properties:
            columns[prop.id] = self._property(prop)
        given = self._ids(ID.name) if ID.name in self._rows.schema.names else None
        for member in key_members(entity):
            self._require(entity.by_id[member], columns[member])
        return self._identified(columns, given)

    def _identified(self, columns: dict[PropertyId, pa.Array], given: pa.Array | None) -> Batch:
        entity = self._entity
        records = np.flatnonzero(self._good)
        columns = {key: self._kept(column) for key, column in columns.items()}
        given = None if given is None else self._kept(given)
        identified = identify(entity, columns, given, len(records))
        columns[ID.id] = identified.ids
        rows = pa.RecordBatch.from_arrays(
            [columns[prop.id] for prop in stored_properties(entity)], schema=table_schema(entity)
        )
        wrong = [] if given is None else self._wrong_ids(given, identified, records)
        if wrong:
            keep = np.ones(len(records), dtype=bool)
            keep[wrong] = False
            rows, records = rows.filter(pa.array(keep)), records[keep]
        given_names = self._rows.schema.names
        absent = [prop.name for prop in entity.properties if prop.name not in given_names]
        unnamed = same_unnamed(entity, absent, rows.num_rows)
        return Batch(entity, rows, records, identified.generated, unnamed)

    def _wrong_ids(self, given: pa.Array, identified: Identified, records: np.ndarray) -> list[int]:
        """Return the rows whose given id is not even equivalent to that of their key."""
        wrong = []
        for at in map(int, identified.contradicting):
            text, derived = given[at].as_py(), identified.ids[at].as_py()
            if canonical_id(self._entity, text) != derived:
                wrong.append(at)
                message = f"the id {text!r} differs from that of the key, {derived!r}"
                self._fault(int(records[at]), "id", message, prop=ID.name)
        return wrong

    # --- columns ---

    def _property(self, prop: Property) -> pa.Array:
        if prop.name not in self._rows.schema.names:
            default = pa.scalar(default_value(prop), arrow_type(prop.dtype))
            return pa.repeat(default, self._rows.num_rows)
        return self._read(prop.name, prop.dtype)

    def _read(self, name: str, dtype: DataType) -> pa.Array:
        column = self._column(name)
        if self._text:
            column, faults = utf8(column)
            self._note(name, faults, column)
        read = read_cells if self._text else read_column
        found, faults = read(column, dtype)
        self._note(name, faults, column)
        return found

    def _ids(self, name: str) -> pa.Array:
        """Return ids as text, or as the values that form them."""
        column = self._column(name)
        if pa.types.is_floating(column.type):
            # A data frame stores integers with gaps as floats.
            column, faults = read_column(column, _WHOLE)
            self._note(name, faults, column)
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type) or self._text:
            return self._read(name, STRING)
        if pa.types.is_null(column.type):
            return column.cast(pa.string())
        return key_texts(column)

    def _column(self, name: str) -> pa.Array:
        """Return a column as given; each broken value is a fault."""
        column = self._rows.column(name)
        if self._text:
            return plain(column)
        column, faults = validate_column(column)
        self._note(name, faults, column)
        return plain(column)

    def _require(self, prop: Property, column: pa.Array) -> None:
        name = {SRC.id: "from", DST.id: "to"}.get(prop.id, prop.name)
        missing = column.is_null().to_numpy(zero_copy_only=False) & self._good
        for at in np.flatnonzero(missing):
            self._fault(int(at), "required", "a value is required", prop=name)

    def _kept(self, column: pa.Array) -> pa.Array:
        return column if self._good.all() else column.filter(pa.array(self._good))

    # --- faults ---

    def _note(self, name: str, faults: list[tuple[int, ValueProblem]], column: pa.Array) -> None:
        for at, problem in faults:
            value = column[at].as_py() if pa.types.is_string(column.type) else None
            self._fault(at, _rule(problem), problem.message, prop=name, value=value)

    def _fault(
        self, at: int, rule: str, message: str, *, prop: str, value: str | None = None
    ) -> None:
        self._good[at] = False
        fault = _violation(self._entity, rule, message, prop=prop, record=at, value=value)
        self.faults.append(fault)


def _rule(problem: ValueProblem) -> str:
    # The only null that is a problem of a value is an item of a list.
    return _RULES.get(problem.code, "type")


def _violation(
    entity: EntityType,
    rule: str,
    message: str,
    *,
    prop: str,
    record: int | None = None,
    value: str | None = None,
) -> Violation:
    return Violation(
        rule=rule,
        message=message,
        type=entity.name,
        property=prop,
        value=value[:_SHOWN_MAX] if value else value,
        record=record,
    )
