"""The result of a read: typed columns, and the snapshot that was read.

``rows`` returns Python values; ``to_json_rows``, ``to_ndjson`` and ``to_json`` return the wire form
of ``wire_values``. Arrow is imported on first use.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.api.wire_values import to_wire
from omnigraph.errors import Unsupported
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from omnigraph.ir.queries import ResultColumn
    from omnigraph.runtime.ids import CommitId

__all__ = [
    "Cells",
    "QueryResult",
    "QueryStream",
    "ReadTarget",
]


@dataclass(slots=True)
class Cells:
    """A few rows as Python values, column by column."""

    schema: pa.Schema
    columns: Sequence[Sequence[Any]]
    count: int

    def rows(self) -> Iterator[dict[str, Any]]:
        names = self.schema.names
        if self.count == 1:
            # Lookups and counts return one row, and are by far the most common results.
            yield dict(zip(names, [column[0] for column in self.columns], strict=True))
            return
        for row in zip(*self.columns, strict=True):
            yield dict(zip(names, row, strict=True))

    def table(self) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - few rows travel without Arrow

        arrays = [
            pa.array(column, field.type)
            for column, field in zip(self.columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


@frozen
class ReadTarget:
    """The requested target: a branch, or a snapshot (a commit id, a tag, a point in time)."""

    branch: str | None = None
    snapshot: str | None = None

    def to_json(self) -> dict[str, str]:
        named = {"branch": self.branch, "snapshot": self.snapshot}
        return {name: value for name, value in named.items() if value is not None}


class QueryResult:
    """The complete, ordered result of one read. Immutable.

    A small result is held as Python values and converted to Arrow on demand.
    """

    __slots__ = ("_cells", "_table", "columns", "commit_id", "query_name", "target")

    def __init__(
        self,
        query_name: str,
        columns: tuple[ResultColumn, ...],
        table: pa.Table | None,
        commit_id: CommitId | None = None,
        target: ReadTarget | None = None,
        cells: Cells | None = None,
    ) -> None:
        self.query_name = query_name
        self.columns = columns
        self.commit_id = commit_id
        self.target = target
        self._table = table
        self._cells = cells

    @property
    def table(self) -> pa.Table:
        """The rows as one Arrow table."""
        if self._table is None:
            self._table = self._require_cells().table()
        return self._table

    def read_from(self, commit_id: CommitId, target: ReadTarget) -> QueryResult:
        """Attach the snapshot that was read; called once, before the result is returned to the
        caller.
        """
        self.commit_id, self.target = commit_id, target
        return self

    def __len__(self) -> int:
        return int(self.table.num_rows) if self._cells is None else self._cells.count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._cells is not None:
            yield from self._cells.rows()
            return
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def _require_cells(self) -> Cells:
        if self._cells is None:
            raise ValueError("a result needs a table or cells")
        return self._cells

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.kind}" for column in self.columns)
        return f"<QueryResult {self.query_name} ({columns}), {_row_count(len(self))}>"

    def _repr_html_(self) -> str:
        from omnigraph.notebook.row_table import html_table  # noqa: PLC0415 - for notebooks only

        names = [column.name for column in self.columns]
        shown = ([to_wire(row[name]) for name in names] for row in self)
        return html_table(names, shown, note=f"{self.query_name}: {_row_count(len(self))}")

    def rows(self) -> list[dict[str, Any]]:
        """All rows as dicts of Python values, entities as nested dicts."""
        return list(self if self._cells is None else self._cells.rows())

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame.

        Integer and boolean columns keep their types if they contain NULLs.
        """
        pandas = _import("pandas")
        nullable = _nullable_pandas_types(pandas)
        return pandas.DataFrame(
            {
                name: column.to_pandas(types_mapper=nullable.get if column.null_count else None)
                for name, column in zip(self.table.column_names, self.table.columns, strict=True)
            }
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a polars frame, without a copy where polars permits it."""
        return _import("polars").from_arrow(self.table)

    def to_json_rows(self) -> list[dict[str, Any]]:
        """Return all rows in the wire form, NULLs included."""
        return [to_wire(row) for row in self]

    def to_ndjson(self) -> str:
        """Encode one JSON object and one line feed per row."""
        return "".join(f"{line}\n" for line in self.ndjson_lines())

    def ndjson_lines(self) -> Iterator[str]:
        """Iterate over the rows as JSON texts."""
        for row in self:
            yield _json_line(row)

    def to_json(self) -> dict[str, Any]:
        """Return the result as the HTTP body and ``--json`` show it."""
        body: dict[str, Any] = {
            "query_name": self.query_name,
            "target": self.target.to_json() if self.target else {},
            "row_count": len(self),
            "columns": [column.name for column in self.columns],
            "rows": self.to_json_rows(),
        }
        return body if self.commit_id is None else {**body, "graph_commit_id": self.commit_id}


class QueryStream:
    """The ordered result of one read as batches; it can be read once.

    The set of rows is fixed when the stream begins; their values are read during iteration, which
    can still exceed the time budget of the query.
    """

    def __init__(
        self,
        query_name: str,
        columns: tuple[ResultColumn, ...],
        schema: pa.Schema,
        row_count: int,
        batches: Iterator[pa.RecordBatch],
    ) -> None:
        self.query_name = query_name
        self.columns = columns
        self.schema = schema
        self.row_count = row_count
        self.commit_id: CommitId | None = None
        self.target: ReadTarget | None = None
        self._batches = batches

    def read_from(self, commit_id: CommitId, target: ReadTarget) -> QueryStream:
        """Return the same stream with the snapshot that it reads."""
        self.commit_id, self.target = commit_id, target
        return self

    def during(self, operation: AbstractContextManager[object]) -> None:
        """Hold a context open from the first batch to the last, or until the stream is closed."""
        self._batches = _within(operation, self._batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.kind}" for column in self.columns)
        return f"<QueryStream {self.query_name} ({columns}), {_row_count(self.row_count)}>"

    def ndjson_lines(self) -> Iterator[str]:
        """Iterate over the rows as JSON texts."""
        for batch in self:
            for row in batch.to_pylist():
                yield _json_line(row)

    def read_all(self) -> QueryResult:
        """Return the rest of the stream at once."""
        import pyarrow as pa  # noqa: PLC0415 - loaded by the stream

        table = pa.Table.from_batches(list(self), schema=self.schema)
        return QueryResult(self.query_name, self.columns, table, self.commit_id, self.target)


def _within(
    operation: AbstractContextManager[object], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    with operation:
        yield from batches


def _json_line(row: dict[str, Any]) -> str:
    return json.dumps(to_wire(row), ensure_ascii=False, separators=(",", ":"))


def _import(name: str) -> ModuleType:
    """Import an optional library on first use, or raise an error that names it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unsupported(
            f"result.{name}_missing",
            f"{name} is not installed",
            remedy=f"install it (pip install {name}), or use to_arrow() or rows()",
        ) from error


def _nullable_pandas_types(pandas: ModuleType) -> dict[pa.DataType, Any]:
    import pyarrow as pa  # noqa: PLC0415 - loaded by the table

    return {
        pa.bool_(): pandas.BooleanDtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
    }


def _row_count(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
