"""Logs JSON lines to stderr: one per request, with its id and actor, and never a secret.

Of the content of a request only names are logged: no query text, no parameters, no query string, no
header.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import msgspec

from omnigraph.runtime.clock import format_micros

__all__ = ["JsonLines", "start_logs"]

_FIELDS = (
    "request_id",
    "actor",
    "graph",
    "operation",
    "method",
    "status",
    "ms",
    "bytes_in",
    "action",
    "branch",
    "target_branch",
    "query",
    "allowed",
    "rule",
)


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": format_micros(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        said = record.__dict__
        for name in _FIELDS:
            value = said.get(name)
            if value is not None:
                line[name] = value
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(line, enc_hook=str).decode()


def start_logs(level: str = "info") -> None:
    """Send the log of the server and of the engine to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("omnigraph", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    # The access log of the framework would duplicate these lines with less detail.
    logging.getLogger("uvicorn.access").disabled = True
    # One line per authorisation decision is too much by default.
    logging.getLogger("omnigraph.policy").setLevel(
        logging.DEBUG if level == "debug" else logging.WARNING
    )
