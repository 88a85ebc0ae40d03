"""``omnigraph blob``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.atomic_files import write_atomically
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.targets import find_target, target_options
from omnigraph.cli.terminal import BytesOutput
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.api.entities import Blob

__all__ = ["command"]


@verb_group("blob")
def command() -> None:
    """Read the bytes or the metadata of a Blob property."""


def _selector(declared: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``node|edge TYPE ID PROPERTY`` and the target flags."""
    for name in ("property", "id", "type"):
        declared = click.argument(name)(declared)
    kind = click.argument("kind", metavar="node|edge", type=click.Choice(["node", "edge"]))
    return kind(target_options(declared))


@verb(
    "get",
    examples=(
        "omnigraph blob get node Paper p1 scan --store library.omni > scan.pdf",
        "omnigraph blob get node Paper p1 scan --offset 0 --length 512 --store library.omni",
        "omnigraph blob get node Paper p1 scan --at main@v17 --out scan.pdf",
    ),
)
@_selector
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Start at this byte.",
)
@click.option("--length", type=click.IntRange(min=1), metavar="N", help="Read at most N bytes.")
@click.option(
    "--out", metavar="PATH", help="An output file, replaced atomically; the default is stdout."
)
@click.pass_obj
def get(
    call: Invocation,
    /,
    *,
    offset: int,
    length: int | None,
    out: str | None,
    **selector: Any,
) -> None:
    """Write the raw bytes of PROPERTY of the entity ID."""
    if out is None and call.json:
        raise InvalidInput(
            "usage.blob_twice",
            "--json and the bytes cannot both go to stdout",
            remedy="pass --out PATH, or use `omnigraph blob stat`",
        )
    with open_to_read(call) as graph:
        blob = _find(graph, **selector)
        wanted = _byte_range(blob, offset, length)
        if out is None:
            BytesOutput().writelines(blob.chunks(wanted.start, wanted.stop))
            return
        write_atomically(Path(out), blob.chunks(wanted.start, wanted.stop))
    body = {"out": out, "offset": wanted.start, "bytes": len(wanted), **_body(blob, selector)}
    call.print_result(body, [f"wrote {len(wanted)} bytes to {out}"])


@verb("stat", examples=("omnigraph blob stat node Paper p1 scan --store library.omni",))
@_selector
@click.pass_obj
def stat(call: Invocation, /, **selector: Any) -> None:
    """Print size and tag of a blob without reading it."""
    with open_to_read(call) as graph:
        blob = _find(graph, **selector)
    body = _body(blob, selector)
    call.print_result(body, _lines(body))


command.add_command(get)
command.add_command(stat)


def _find(graph: Any, *, branch: str | None, at: str | None, kind: str, **address: str) -> Blob:
    found: Blob = graph.at(find_target(branch, at)).blob(**address, kind=kind)
    return found


def _byte_range(blob: Blob, offset: int, length: int | None) -> range:
    """Return the requested byte range, clipped to the blob."""
    if offset and offset >= blob.size:
        raise InvalidInput(
            "blob.offset_outside",
            f"--offset {offset} is past the end: the blob has {blob.size} bytes",
        )
    return range(offset, blob.size if length is None else min(offset + length, blob.size))


def _body(blob: Blob, selector: dict[str, Any]) -> dict[str, Any]:
    branch, at = selector["branch"], selector["at"]
    requested = {"snapshot": at} if at is not None else {"branch": branch or "main"}
    return {
        "selector": {
            "entity": selector["kind"],
            "type": selector["type"],
            "id": selector["id"],
            "property": selector["property"],
        },
        "kind": "managed",
        "size": blob.size,
        "etag": blob.tag,
        "target": {**requested, "resolved_snapshot": blob.commit_id},
    }


def _lines(body: dict[str, Any]) -> Iterator[str]:
    yield f"size    {body['size']} bytes"
    yield f"etag    {body['etag']}"
    yield f"commit  {body['target']['resolved_snapshot']}"
