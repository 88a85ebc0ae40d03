"""The harbour: the sample schema of the compiler's tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

SCHEMA = Path(__file__).parents[2] / "fixtures" / "compiler" / "harbour.pg"


@pytest.fixture(scope="session")
def harbour() -> Catalog:
    source = Source(SCHEMA.read_text(encoding="utf-8"), SCHEMA.name)
    return build_catalog(parse_schema(source), source)
