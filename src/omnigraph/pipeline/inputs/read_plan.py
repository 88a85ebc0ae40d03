"""The plan of reading a load: everything that can be checked without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.frozen import frozen
from omnigraph.language.diagnostics import suggest
from omnigraph.loading.tables import check_columns
from omnigraph.pipeline.inputs.located_yaml import location_prefix
from omnigraph.pipeline.inputs.mapping import Mapping as MappingFile
from omnigraph.pipeline.inputs.reader_options import require_lossless_options
from omnigraph.pipeline.inputs.splits import is_frame, list_files, plan_splits
from omnigraph.pipeline.spark.columns import find_entity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from omnigraph.api.writes import LoadRequest
    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.inputs.mapping import MappedSource, MappingTarget
    from omnigraph.pipeline.inputs.splits import Split
    from omnigraph.ports.tables import TableStore

__all__ = ["ReadPlan", "plan_reading"]


@frozen
class ReadPlan:
    """Splits of files, data frames with their types, or a mapping."""

    splits: tuple[Split, ...] = ()
    frames: tuple[tuple[EntityType, DataFrame], ...] = ()
    mapping: MappingFile | None = None
    # Types that the load names, with or without records.
    named: tuple[EntityType, ...] = ()


def plan_reading(
    request: LoadRequest, catalog: Catalog, tables: TableStore, split_bytes: int
) -> ReadPlan:
    """Resolve the inputs of a request. Files are opened only to detect formats and boundaries."""
    if isinstance(request.source, MappingFile):
        named = tuple(_check_mapping(request.source, catalog, request.mode))
        return ReadPlan(mapping=request.source, named=named)
    files: list[tuple[str, str | None]] = []
    frames: list[tuple[EntityType, DataFrame]] = []
    sources = _sources(request, catalog)
    for entity, source in sources:
        if is_frame(source):
            frames.append((_require_type(entity), source))
        else:
            type_name = entity.name if entity is not None else None
            files += [(file, type_name) for file in list_files(_paths(source))]
    splits = plan_splits(files, format=request.format, tables=tables, split_bytes=split_bytes)
    named = tuple(entity for entity, _ in sources if entity is not None)
    return ReadPlan(tuple(splits), tuple(frames), named=named)


def _sources(request: LoadRequest, catalog: Catalog) -> list[tuple[EntityType | None, Any]]:
    source = request.source
    if isinstance(source, Mapping):
        return [(_named(catalog, name), part) for name, part in source.items()]
    return [(None if request.type is None else _named(catalog, request.type), source)]


def _named(catalog: Catalog, name: str) -> EntityType:
    entity = catalog.entity(name)
    if entity is None:
        known = [found.name for found in catalog.types.values()]
        raise InvalidInput(
            "load.unknown_type",
            f"the schema has no type {name!r}",
            remedy=suggest(name, known),
        )
    return entity


def _require_type(entity: EntityType | None) -> EntityType:
    if entity is None:
        raise InvalidInput(
            "load.type_missing",
            "a data frame has no type of its own",
            remedy='name the type: {"Person": frame}, or type=',
        )
    return entity


def _paths(source: Any) -> list[str | Path]:
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, Iterable):
        paths = list(source)
        if all(isinstance(path, str | Path) for path in paths):
            return paths
    raise InvalidInput(
        "load.bad_source",
        f"a {type(source).__name__} cannot be loaded by Spark",
        remedy="give paths, patterns or Spark data frames; the engine local takes more",
    )


# --- mappings ----------------------------------------------------------------------------------


def _check_mapping(mapping: MappingFile, catalog: Catalog, mode: Mode) -> Iterable[EntityType]:
    """Check a mapping against schema and files; yield its types."""
    for source in mapping.sources:
        if source.delete is not None and mode is not Mode.MERGE:
            raise InvalidInput(
                "mapping.delete_mode",
                "a mapping that deletes needs the mode merge",
                remedy="choose merge, or leave out delete",
            )
        require_lossless_options(source, list_files(source.paths))
        for target in source.into:
            entity = _target_type(catalog, target)
            _check_target(entity, target, source)
            yield entity


def _target_type(catalog: Catalog, target: MappingTarget) -> EntityType:
    try:
        return find_entity(catalog, target.type)
    except NotFound as error:
        said = f"{location_prefix(target.type)}{error.message}"
        raise NotFound(error.code, said, remedy=error.remedy) from error


def _check_target(entity: EntityType, target: MappingTarget, source: MappedSource) -> None:
    wrong = check_columns(entity, list(target.values))
    if wrong:
        raise InvalidInput(
            "mapping.bad_target",
            f"{location_prefix(target.type)}{entity.name}, {wrong[0].property}: {wrong[0].message}",
            remedy="map properties of the type; an edge also needs from and to",
        )
    if source.delete is None or entity.key is not None or ID.name in target.values:
        return
    raise InvalidInput(
        "mapping.delete_without_id",
        f"{location_prefix(target.type)}{entity.name} has no key to identify what to delete",
        remedy="map its id",
    )
