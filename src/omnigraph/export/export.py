"""Export of a snapshot: JSON lines of all types, or a table per type.

Loading an export reproduces the graph.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.api.entities import ExportRequest, ExportResult, _unwritable, open_output
from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.export.json_lines import json_lines, json_values
from omnigraph.language.diagnostics import suggest
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.ports.tables import Table
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = [
    "FORMATS",
    "choose_types",
    "export",
    "write_rows",
]

FORMATS = ("ndjson", "csv", "parquet", "arrow")


def export(engine: Engine, request: ExportRequest) -> ExportResult:
    """Export a target, batch by batch."""
    if request.format not in FORMATS:
        raise InvalidInput(
            "export.bad_format",
            f"{request.format!r} is not a format",
            remedy=f"one of: {', '.join(FORMATS)}",
        )
    snapshot = engine.snapshot(request.target)
    entities = choose_types(snapshot.catalog, request.types)
    if request.format == "ndjson":
        with open_output(request.out) as file:
            for entity in entities:
                write_rows(snapshot.table(entity.id), entity, file, request.format)
    else:
        _write_tables(snapshot, entities, request)
    return ExportResult(
        request.target,
        snapshot.commit_id,
        tuple(
            (entity.kind, entity.name, snapshot.manifest.pins[entity.id].rows)
            for entity in entities
        ),
    )


def choose_types(catalog: Catalog, names: Sequence[str]) -> list[EntityType]:
    """Return the types to write: nodes first, because a sequential reader needs them first."""
    everything = list(catalog.types.values())
    if not names:
        return everything
    chosen = set()
    for name in names:
        entity = catalog.entity(name)
        if entity is None:
            known = [found.name for found in everything]
            raise NotFound(
                "export.unknown_type",
                f"the schema has no type {name!r}",
                remedy=suggest(name, known),
            )
        chosen.add(entity.id)
    return [entity for entity in everything if entity.id in chosen]


# --- tables ------------------------------------------------------------------------------------


def _write_tables(
    snapshot: Snapshot, entities: Sequence[EntityType], request: ExportRequest
) -> None:
    single = len(entities) == 1
    is_path = isinstance(request.out, str | Path)
    if single and not (is_path and Path(request.out).is_dir()):
        with open_output(request.out) as file:
            write_rows(snapshot.table(entities[0].id), entities[0], file, request.format)
        return
    if not is_path:
        raise InvalidInput(
            "export.one_type",
            f"a {request.format} file can contain only one type",
            remedy="name one type, write ndjson, or give a directory",
        )
    directory = Path(request.out)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InvalidInput(
            "export.unwritable",
            f"{directory} is a file, and a {request.format} file can contain only one type",
            remedy="name one type, or give a directory",
        ) from error
    except OSError as error:
        raise _unwritable(directory, error) from error
    for entity in entities:
        with open_output(directory / f"{entity.name}.{request.format}") as file:
            write_rows(snapshot.table(entity.id), entity, file, request.format)


def write_rows(
    table: Table,
    entity: EntityType,
    file: BinaryIO,
    kind: str,
    *,
    parts: Sequence[int] | None = None,
) -> None:
    """Write the rows of one type, or of some parts of its table."""
    if kind == "ndjson":
        for batch in table.batches(fragments=parts):
            check_cancelled()
            file.write(json_lines(entity, batch))
        return
    columns = _columns(entity)
    schema = pa.schema(
        [pa.field(name, table.schema.field(column).type) for column, name in columns]
    )
    if kind == "csv":
        schema = pa.schema([_csv_field(field) for field in schema])
    with _writer(kind, file, schema) as writer:
        for batch in table.batches([column for column, _ in columns], fragments=parts):
            check_cancelled()
            arrays = [batch.column(column) for column, _ in columns]
            if kind == "csv":
                arrays = [_csv_column(array) for array in arrays]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _columns(entity: EntityType) -> list[tuple[str, str]]:
    """Map columns of the table to external names; an id with a key is left out, as redundant."""
    ids = [(ID.column, ID.name)] if entity.key is None else []
    ends = [(SRC.column, "from"), (DST.column, "to")] if isinstance(entity, EdgeType) else []
    return [*ids, *ends, *((prop.column, prop.name) for prop in entity.properties)]


def _writer(kind: str, file: BinaryIO, schema: pa.Schema) -> Any:
    match kind:
        case "csv":
            return pcsv.CSVWriter(file, schema)
        case "parquet":
            return pq.ParquetWriter(file, schema)
        case _:
            return pa.ipc.new_file(file, schema)


def _csv_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.string()) if _is_spelled(field.type) else field


def _csv_column(column: pa.Array) -> pa.Array:
    """Write values without a CSV form as JSON."""
    if not _is_spelled(column.type):
        return column
    if pa.types.is_timestamp(column.type):
        return pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)
    texts = json_values(column)
    if pa.types.is_large_binary(column.type):
        texts = pc.utf8_trim(texts, '"')
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string()))


def _is_spelled(found: pa.DataType) -> bool:
    return isinstance(found, pa.TimestampType | pa.ListType | pa.FixedSizeListType) or bool(
        pa.types.is_large_binary(found)
    )
