"""Validates the location of a graph before a directory is created."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph.errors import InvalidInput
from omnigraph.versioning import layout

__all__ = ["parse_location", "require_outside_graphs"]


def parse_location(uri: object, storage_options: object = None) -> str:
    """Return a path or URI as text; rejects None, which would become a directory's name."""
    place = os.fspath(uri) if isinstance(uri, os.PathLike) else uri
    if not isinstance(place, str):
        raise InvalidInput(
            "uri.unsupported",
            f"the location of a graph must be a path or a URI, not {type(uri).__name__}",
            remedy="use a path, file:///absolute/path, or s3://bucket/prefix",
        )
    if storage_options is not None and not _is_text_map(storage_options):
        raise InvalidInput(
            "uri.bad_options",
            "storage_options must be a mapping from strings to strings",
            remedy='for example {"aws_region": "eu-central-1"}',
        )
    return place


def require_outside_graphs(root_uri: str) -> None:
    """Refuse a location inside another graph, whose cleanup would remove it.

    Buckets are exempt: permission to write below a prefix need not include listing the prefixes
    above.
    """
    if "://" in root_uri:
        return
    for parent in Path(root_uri).resolve().parents:
        # Unlike ``Path.is_file``, it treats an inaccessible path as absent.
        if os.path.isfile(parent / layout.STAMP):  # noqa: PTH113
            raise InvalidInput(
                "graph.nested",
                f"{root_uri} lies inside the graph {parent}",
                remedy="choose a location outside of it",
            )


def _is_text_map(options: object) -> bool:
    return isinstance(options, Mapping) and all(
        isinstance(text, str) for pair in options.items() for text in pair
    )
