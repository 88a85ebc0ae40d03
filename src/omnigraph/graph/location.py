"""Where a graph is to be: what a caller may say, checked before a directory is made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph.errors import InvalidInput
from omnigraph.versioning import layout

__all__ = ["parse_place", "require_outside_graphs"]


def parse_place(uri: object, storage_options: object = None) -> str:
    """A path or a URI as a text; a ``None`` that was meant to be one is no directory's name."""
    place = os.fspath(uri) if isinstance(uri, os.PathLike) else uri
    if not isinstance(place, str):
        raise InvalidInput(
            "uri.unsupported",
            f"the place of a graph is a path or a URI, not {type(uri).__name__}",
            remedy="Give a path, file:///absolute/path, or s3://bucket/prefix.",
        )
    if storage_options is not None and not _is_text_map(storage_options):
        raise InvalidInput(
            "uri.bad_options",
            "storage_options is a mapping from texts to texts",
            remedy='for example {"aws_region": "eu-central-1"}',
        )
    return place


def require_outside_graphs(root_uri: str) -> None:
    """A graph inside another one would be taken for rubbish of the outer one. Buckets are not
    asked: who may write below a prefix need not be allowed to look above it."""
    if "://" in root_uri:
        return
    for parent in Path(root_uri).resolve().parents:
        # Unlike Path.is_file it calls what it may not look at absent.
        if os.path.isfile(parent / layout.STAMP):  # noqa: PTH113
            raise InvalidInput(
                "graph.nested",
                f"{root_uri} lies inside the graph {parent}",
                remedy="choose a place outside of it",
            )


def _is_text_map(options: object) -> bool:
    return isinstance(options, Mapping) and all(
        isinstance(text, str) for pair in options.items() for text in pair
    )
