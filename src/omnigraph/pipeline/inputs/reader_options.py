"""Checks of Spark's reader options, before Spark starts.

Some options drop rows silently. An unreadable row must be reported, so those options are refused
with an alternative.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.loading.byte_streams import open_stream
from omnigraph.loading.formats import format_of
from omnigraph.pipeline.inputs.located_yaml import location_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.pipeline.inputs.mapping import MappedSource

__all__ = ["format_of_source", "require_lossless_options"]

# A file with one larger object is not parsed for this check.
_LOOKED_THROUGH_MAX = 64 * 2**20


def format_of_source(source: MappedSource, files: Sequence[str]) -> str:
    """Return the format of a source: the declared one, or the one of the first file."""
    return source.format or format_of(files[0], b"")


def require_lossless_options(source: MappedSource, files: Sequence[str]) -> None:
    """Refuse options that lose rows."""
    options = {name.lower(): (name, value.lower()) for name, value in source.options.items()}
    name, value = options.get("mode", ("", ""))
    if value == "dropmalformed":
        raise _refused(
            name, "unreadable rows would be dropped", "use --on-error quarantine, which keeps them"
        )
    kind = format_of_source(source, files)
    name, value = options.get("header", ("", "true"))
    if kind == "csv" and value != "true":
        raise _refused(name, "CSV needs a header with column names", "add one to the file")
    name, value = options.get("multiline", ("", "false"))
    if kind not in ("csv", "parquet") and value == "true":
        for file in files:
            _require_single(name, file)


def _require_single(name: str, file: str) -> None:
    """Refuse a file with several values: Spark reads the first and silently skips the others."""
    with open_stream(file) as (_, stream):
        body = stream.read(_LOOKED_THROUGH_MAX + 1)
    text = body.decode("utf-8-sig", errors="replace").lstrip()
    if len(body) > _LOOKED_THROUGH_MAX:
        is_single = text.startswith("[")
    else:
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            # Spark reports it as an unreadable record.
            return
        is_single = not text[end:].strip()
    if not is_single:
        raise _refused(
            name,
            f"Spark would read only the first of the records in {Path(file).name}",
            "write one record on each line (jq -c . does it), or all of them as one array",
        )


def _refused(option: str, why: str, remedy: str) -> InvalidInput:
    said = f"{location_prefix(option)}the option {str(option)!r} cannot be used: {why}"
    return InvalidInput("mapping.lossy_option", said, remedy=remedy)
