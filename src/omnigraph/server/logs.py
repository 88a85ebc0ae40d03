"""Logs as JSON lines on stderr: one per request, with its id and actor, and never a secret.

Nothing that a caller wrote is logged but what names the request: no query text, no parameters, no
query string, no header.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import msgspec

from omnigraph.runtime.clock import format_micros

__all__ = ["JsonLines", "start_logs"]

_TOLD = (
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
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": format_micros(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        said = record.__dict__
        for name in _TOLD:
            value = said.get(name)
            if value is not None:
                line[name] = value
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(line, enc_hook=str).decode()


def start_logs(level: str = "info") -> None:
    """Send what the server and the engine say to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("omnigraph", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    # One line per request is enough, and ours says more.
    logging.getLogger("uvicorn.access").disabled = True
    # A decision per request is too much of a good thing, unless somebody looks for it.
    logging.getLogger("omnigraph.policy").setLevel(
        logging.DEBUG if level == "debug" else logging.WARNING
    )
