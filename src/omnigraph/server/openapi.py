"""Builds the OpenAPI 3.1 document from the types that decode the requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from omnigraph import __version__
from omnigraph.server.headers import DEADLINE
from omnigraph.server.wire.problems import ErrorOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.server.operations import ApiOperation

__all__ = ["document_text", "make_document"]

_REF = "#/components/schemas/{name}"
_STATUSES = {
    400: "The request is invalid.",
    401: "The token is missing or invalid.",
    403: "The policy denies the operation; the body names the action.",
    404: "It does not exist.",
    405: "The path does not support the method.",
    408: "Timeout while receiving the body.",
    409: "The graph has changed concurrently, or an object exists already.",
    410: "Cleanup has removed the required history.",
    412: "The branch is not at the required commit.",
    413: "The request exceeds a limit.",
    414: "The query string is too long.",
    415: "The media type of the body is not supported.",
    416: "The range is not satisfiable.",
    429: "Too many concurrent writes of this actor.",
    500: "Internal server error.",
    503: "The server is busy or stopping, or the outcome is unknown.",
    504: "The deadline or the time budget has expired.",
}
_OTHERS = {206: "A range of the blob.", 304: "The blob has not changed."}
_EVERYWHERE = (400, 401, 404, 500, 503)


def document_text(operations: Sequence[ApiOperation]) -> str:
    """Return the document as it is stored in the repository; a test compares the two."""
    return json.dumps(make_document(operations), indent=1, ensure_ascii=False) + "\n"


def make_document(operations: Sequence[ApiOperation], *, secured: bool = True) -> dict[str, Any]:
    """Build the document of a server; without ``secured`` no operation requires a token."""
    types = _types_of(operations)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = dict(zip(map(_key, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(
            each, schema_of, components, secured=secured
        )
    used = {name: schema for name, schema in components.items() if not name.endswith("Query")}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "OmniGraph",
            "version": __version__,
            "description": "A typed property graph, versioned like Git, over HTTP.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "responses": _problems(schema_of[_key(ErrorOutput)]),
            "schemas": dict(sorted(used.items())),
        },
    }
    if secured:
        scheme = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"bearer_token": scheme}
    return document


def _problems(schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {
        f"Problem{status}": {"description": said, "content": content}
        for status, said in _STATUSES.items()
    }


def _types_of(operations: Sequence[ApiOperation]) -> list[Any]:
    found: dict[Any, Any] = {_key(ErrorOutput): ErrorOutput}
    for each in operations:
        for kind in (each.body, *each.answers, each.query):
            if kind is not None:
                found.setdefault(_key(kind), kind)
    return list(found.values())


def _key(kind: Any) -> str:
    return str(kind)


def _operation(
    each: ApiOperation,
    schema_of: dict[str, dict[str, Any]],
    components: dict[str, Any],
    *,
    secured: bool,
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": each.id,
        "summary": each.summary.split(". ", 1)[0].rstrip("."),
        "tags": [each.tag],
        "responses": _responses(each, schema_of, secured=secured),
    }
    if ". " in each.summary:
        said["description"] = each.summary
    parameters = [*_path_parameters(each), *_query_parameters(each, components), *_headers(each)]
    if parameters:
        said["parameters"] = parameters
    if each.body is not None:
        content = {"application/json": {"schema": schema_of[_key(each.body)]}}
        said["requestBody"] = {"required": not each.body_optional, "content": content}
    elif each.takes is not None:
        content = {each.takes: {"schema": {"type": "string"}}}
        said["requestBody"] = {"required": True, "content": content}
    if secured and not each.public:
        said["security"] = [{"bearer_token": []}]
    return said


def _responses(
    each: ApiOperation, schema_of: dict[str, dict[str, Any]], *, secured: bool
) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Done."}
    shapes = [schema_of[_key(kind)] for kind in each.answers] or [{"type": "string"}]
    success["content"] = {
        each.gives: {"schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes}},
        **{media_type: {"schema": {"type": "string"}} for media_type in each.also_gives},
    }
    statuses = {*each.problems, *_EVERYWHERE, *((403,) if each.is_of_graph else ())}
    if each.body is not None or each.takes is not None:
        statuses |= {408, 413, 415}
    if DEADLINE in each.headers:
        statuses.add(504)
    if not secured or each.public:
        statuses.discard(401)
    others = {str(status): {"description": _OTHERS[status]} for status in each.others}
    told = {
        str(status): {"$ref": f"#/components/responses/Problem{status}"}
        for status in sorted(statuses)
    }
    return {"200": success, **others, **told}


def _path_parameters(each: ApiOperation) -> list[dict[str, Any]]:
    return [
        {
            "name": part[1:-1],
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        for part in each.segments
        if part.startswith("{")
    ]


def _query_parameters(each: ApiOperation, components: dict[str, Any]) -> list[dict[str, Any]]:
    if each.query is None:
        return []
    schema = components[each.query.__name__]
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(said)}
        for name, said in schema["properties"].items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from the type of a parameter, which is present or absent."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {
        **{key: value for key, value in schema.items() if key not in ("anyOf", "default")},
        **choices[0],
    }


def _headers(each: ApiOperation) -> list[dict[str, Any]]:
    return [
        {
            "name": header.name,
            "in": "header",
            "required": header.required,
            "description": header.summary,
            "schema": dict(header.schema),
        }
        for header in each.headers
    ]
