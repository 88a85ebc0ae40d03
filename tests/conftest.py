"""What the whole test session shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from omnigraph.runtime.ids import new_short_id
from omnigraph.testing.s3 import S3Endpoint, start_s3

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long one example takes says more about the machine than about the code. By default every run
# tries the same examples, so that a change turns red by its own fault; `--whole` looks for others.
settings.register_profile(
    "omnigraph", deadline=None, print_blob=True, derandomize=True, max_examples=30
)
settings.register_profile("whole", deadline=None, print_blob=True)
settings.load_profile("omnigraph")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run every sweep whole (long)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--whole"):
        settings.load_profile("whole")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    skip = pytest.mark.skip(reason="a whole sweep: run with --whole")
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def s3_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Endpoint]:
    """A real S3 endpoint. It fails, and never skips, when the server cannot start."""
    with start_s3(tmp_path_factory.mktemp("s3")) as endpoint:
        yield endpoint


@pytest.fixture
def s3_uri(s3_endpoint: S3Endpoint) -> str:
    """A prefix of its own for one test."""
    return s3_endpoint.uri(f"test-{new_short_id()}")
