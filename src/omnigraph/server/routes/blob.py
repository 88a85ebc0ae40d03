"""Blobs, with ranges and conditional requests."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from omnigraph.frozen import frozen
from omnigraph.server.headers import DEADLINE, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, OCTETS, operation
from omnigraph.server.problems import HttpProblem
from omnigraph.server.response_stream import ResponseStream, stream
from omnigraph.server.wire.data import BlobQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.api.entities import Blob
    from omnigraph.server.exchange import Exchange

__all__ = ["get_blob", "head_blob"]

_HEADERS = (DEADLINE, RANGE, IF_MATCH, IF_NONE_MATCH, IF_RANGE)
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@operation(
    "GET",
    f"{GRAPH}/blob",
    query=BlobQuery,
    gives=OCTETS,
    headers=_HEADERS,
    problems=(400, 410, 412, 416),
    others=(206, 304),
)
async def get_blob(exchange: Exchange) -> Response:
    """Return the bytes of a blob. One range is supported; several or malformed ones are ignored."""
    blob = await _find(exchange)
    if _is_known(exchange, blob):
        return Response(status_code=304, headers=_headers(blob))
    part = _requested_range(exchange, blob)
    headers = {
        **_headers(blob),
        "Content-Length": str(part.stop - part.start),
        "Content-Disposition": "attachment",
    }
    if part.partial:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{blob.size}"

    def work(out: ResponseStream) -> None:
        for chunk in blob.chunks(part.start, part.stop):
            out.write(chunk)

    return await stream(
        exchange.service.pools.streams,
        exchange.service.limits,
        work,
        media_type=OCTETS,
        headers=headers,
        status=206 if part.partial else 200,
    )


@operation(
    "HEAD",
    f"{GRAPH}/blob",
    query=BlobQuery,
    gives=OCTETS,
    headers=_HEADERS,
    problems=(400, 410, 412),
    others=(304,),
)
async def head_blob(exchange: Exchange) -> Response:
    """Return the size of a blob, and its tag."""
    blob = await _find(exchange)
    known = _is_known(exchange, blob)
    headers = {**_headers(blob), **({} if known else {"Content-Length": str(blob.size)})}
    return Response(status_code=304 if known else 200, headers=headers, media_type=OCTETS)


@frozen
class _ByteRange:
    start: int
    stop: int
    partial: bool


async def _find(exchange: Exchange) -> Blob:
    asked: BlobQuery = exchange.query
    target = parse_target(asked.branch, asked.snapshot)
    graph = exchange.graph
    found = await asyncio.shield(
        exchange.service.pools.reads.start(
            lambda: graph.at(target).blob(asked.type, asked.id, asked.property, kind=asked.entity)
        )
    )
    wanted = exchange.header(IF_MATCH.name)
    if wanted is not None and not _lists(wanted, found):
        raise HttpProblem(412, "blob.changed", "the blob does not have the tag of If-Match")
    return found


def _headers(blob: Blob) -> Mapping[str, str]:
    return {
        "ETag": _tag(blob),
        "Accept-Ranges": "bytes",
        "Omnigraph-Graph-Commit": blob.commit_id,
        # A commit identifies its snapshot.
        "Omnigraph-Snapshot-Id": blob.commit_id,
    }


def _tag(blob: Blob) -> str:
    return f'"{blob.tag}"'


def _lists(header: str, blob: Blob) -> bool:
    """Whether a list of tags contains the blob's; ``*`` matches every one."""
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or _tag(blob) in tags


def _is_known(exchange: Exchange, blob: Blob) -> bool:
    given = exchange.header(IF_NONE_MATCH.name)
    return given is not None and _lists(given, blob)


def _requested_range(exchange: Exchange, blob: Blob) -> _ByteRange:
    whole = _ByteRange(0, blob.size, partial=False)
    asked = exchange.header(RANGE.name)
    only_if = exchange.header(IF_RANGE.name)
    if asked is None or (only_if is not None and only_if != _tag(blob)):
        return whole
    found = _RANGE.fullmatch(asked)
    if found is None or not any(found.groups()):
        return whole
    first, last = found.groups()
    if not first:
        start, stop = max(blob.size - int(last), 0), blob.size
    else:
        start, stop = int(first), min(int(last) + 1, blob.size) if last else blob.size
    if first and last and int(last) < int(first):
        return whole
    if start >= blob.size:
        raise HttpProblem(
            416,
            "blob.range",
            f"the blob has {blob.size} bytes",
            more={"blob_range": {"size": blob.size}},
            headers={"Content-Range": f"bytes */{blob.size}"},
        )
    return _ByteRange(start, stop, partial=True)
