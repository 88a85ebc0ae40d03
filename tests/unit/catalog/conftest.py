"""Building catalogs from texts, with identities that can be foreseen."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Protocol

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog


class Build(Protocol):
    def __call__(self, text: str, previous: Catalog | None = None) -> Catalog: ...


@pytest.fixture
def build() -> Build:
    """Catalogs whose new identities are i1, i2, …"""
    numbers = count(1)

    def mint() -> str:
        return f"i{next(numbers)}"

    def build_text(text: str, previous: Catalog | None = None) -> Catalog:
        source = Source(text, "schema.pg")
        return build_catalog(parse_schema(source), source, previous=previous, mint=mint)

    return build_text
