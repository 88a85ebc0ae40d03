"""Decodes requests into the types of ``wire``; invalid ones become 400."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec

from omnigraph.server.encoding import require_no_encoding
from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.operations import ApiOperation
    from omnigraph.server.wire.base import WireInput

__all__ = ["decode_body", "decode_query"]

_PARAMETERS_MAX = 256
_JSON = "application/json"


async def decode_body(operation: ApiOperation, exchange: Exchange) -> Any:
    """Decode the JSON body of a request as its operation declares it."""
    limits = exchange.service.limits
    longest = limits.json_load_bytes_max if operation.body_of_records else limits.body_bytes_max
    exchange.require_length(longest)
    require_no_encoding(exchange)
    # A body without a media type counts as absent; one of another type is an error, whatever its
    # content.
    if exchange.header("Content-Type") is not None or not operation.body_optional:
        exchange.require_media_type(_JSON)
    data = await exchange.whole_body(longest)
    assert operation.body is not None  # noqa: S101 - asked by the caller
    if not data and operation.body_optional:
        return operation.body()
    try:
        return _decode(operation.body, data)
    except msgspec.ValidationError as error:
        raise _invalid("body", error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "the nesting is too deep" if isinstance(error, RecursionError) else str(error)
        raise HttpProblem(
            400, "request.bad_json", f"the body is not valid JSON: {reason}"
        ) from None


def _decode(kind: type[WireInput], data: bytes) -> Any:
    """Decode the body as ``kind``.

    Deprecated field names are accepted if it does not decode without them.
    """
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError:
        if not kind.ALIASES:
            raise
        given = msgspec.json.decode(data)
        if not isinstance(given, dict) or given.keys().isdisjoint(kind.ALIASES):
            raise
        for older, name in kind.ALIASES.items():
            if older in given and name in given:
                raise msgspec.ValidationError(
                    f"`{older}` is a deprecated name of `{name}`; both are present"
                ) from None
        said = {kind.ALIASES.get(name, name): value for name, value in given.items()}
        return msgspec.convert(said, kind)


def decode_query(operation: ApiOperation, raw: bytes) -> Any:
    """Decode the query string as its operation declares it."""
    if operation.query is None and not raw:
        return None
    given = _parameters(raw)
    if operation.query is None:
        if given:
            raise HttpProblem(
                400, "request.unknown_parameter", "this operation does not accept query parameters"
            )
        return None
    repeated = _lists(operation.query)
    said = {
        name: values if name in repeated or len(values) > 1 else values[0]
        for name, values in given.items()
    }
    try:
        return msgspec.convert(said, operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid("query string", error) from None


def _parameters(raw: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(raw),
            errors="strict",
            max_num_fields=_PARAMETERS_MAX,
        )
    except ValueError:
        raise HttpProblem(
            400,
            "request.bad_query",
            "the query string is not of the form NAME=VALUE&…, percent-encoded",
        ) from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


@cache
def _decoder(kind: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _lists(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the parameters that may be repeated."""
    return frozenset(
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if isinstance(field.default_factory, type) and issubclass(field.default_factory, list)
    )


def _invalid(where: str, error: msgspec.ValidationError) -> HttpProblem:
    return HttpProblem(
        400,
        "request.invalid",
        f"invalid {where}: {error}",
        remedy="see /openapi.json",
    )
