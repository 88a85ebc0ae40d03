"""Prints the OpenAPI document: ``python -m omnigraph.server > docs/openapi.json``."""

from __future__ import annotations

import sys

from omnigraph.server.openapi import document_text
from omnigraph.server.routes import OPERATIONS

if __name__ == "__main__":
    sys.stdout.write(document_text(OPERATIONS))
