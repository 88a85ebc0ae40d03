"""Whether Spark's readers can be trusted with the files of a mapping, before Spark starts.

They have options by which rows vanish without a word. What cannot be read has to be told, so these
are refused, with what to do instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput
from omnigraph.loading.byte_streams import open_stream
from omnigraph.loading.formats import format_of
from omnigraph.pipeline.yaml import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.pipeline.mapping import MappedSource

__all__ = ["kind_of", "require_readable"]

# A file of one object that is larger is not looked through.
_LOOKED_THROUGH_MAX = 64 * 2**20


def kind_of(source: MappedSource, files: Sequence[str]) -> str:
    """The format of a source: what it says, or what the first file is called."""
    return source.format or format_of(files[0], b"")


def require_readable(source: MappedSource, files: Sequence[str]) -> None:
    """Refuse options with which rows would be lost."""
    options = {name.lower(): (name, value.lower()) for name, value in source.options.items()}
    name, value = options.get("mode", ("", ""))
    if value == "dropmalformed":
        raise _refused(
            name, "rows that cannot be read would vanish", "--on-error quarantine keeps them aside"
        )
    kind = kind_of(source, files)
    name, value = options.get("header", ("", "true"))
    if kind == "csv" and value != "true":
        raise _refused(name, "CSV is read by the names in its header", "write one into the file")
    name, value = options.get("multiline", ("", "false"))
    if kind not in ("csv", "parquet") and value == "true":
        for file in files:
            _require_single(name, file)


def _require_single(name: str, file: str) -> None:
    """Of a file with several values Spark reads the first, and is silent about the others."""
    with open_stream(file) as (_, stream):
        body = stream.read(_LOOKED_THROUGH_MAX + 1)
    text = body.decode("utf-8-sig", errors="replace").lstrip()
    if len(body) > _LOOKED_THROUGH_MAX:
        is_single = text.startswith("[")
    else:
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            # Spark tells it as a record that cannot be read.
            return
        is_single = not text[end:].strip()
    if not is_single:
        raise _refused(
            name,
            f"of the records in {Path(file).name} Spark would read the first one only",
            "write one record on each line (jq -c . does it), or all of them as one array",
        )


def _refused(option: str, why: str, remedy: str) -> InvalidInput:
    said = f"{place_of(option)}the option {str(option)!r} cannot be used: {why}"
    return InvalidInput("mapping.lossy_option", said, remedy=remedy)
