"""Processes that do everything at once to one graph, killed and stopped at any instruction.

They insert, update, delete with cascades, load, merge, delete branches, change the schema, tag and
index, and read snapshots, logs and feeds. A model that shares no code with the product replays the
history and compares. Guards INV-2, INV-3, INV-4, INV-5, INV-6 and INV-9.

``OMNIGRAPH_STORM_KILLS=500 pytest tests/fault/test_storm.py -s`` blows longer; ``OMNIGRAPH_SEED``
repeats the choices of a run, though not its timing.
"""

from __future__ import annotations

import os
import random
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from tests.fault.storm.driver import Storm

from omnigraph.testing.proxy import start_proxy

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.testing.proxy import S3Request
    from omnigraph.testing.s3 import S3Endpoint

_PER_GRAPH = 100


def blow(
    uri: str,
    pytestconfig: pytest.Config,
    *,
    through: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Storms of up to a hundred kills per graph; after every ten everything is compared.

    ``through`` has the storage options of workers where they are not those of the judge.
    """
    wanted = int(os.environ.get("OMNIGRAPH_STORM_KILLS", "0"))
    kills = wanted or (_PER_GRAPH if pytestconfig.getoption("--whole") else 6)
    seed = int(os.environ.get("OMNIGRAPH_SEED") or secrets.randbelow(2**32))
    while kills > 0:
        storm = Storm(f"{uri}-{kills}", seed + kills, **options)
        storm.begin()
        if through is not None:
            storm.record.faulty = True
            storm.options = {**storm.options, "storage_options": through}
        try:
            while storm.kills < min(kills, _PER_GRAPH):
                storm.blow(min(kills, 10))
                print(
                    f"OMNIGRAPH_SEED={seed}: {storm.kills} kills, {storm.stops} stops, "
                    f"{storm.record.acknowledged} of {len(storm.record.endings)} acknowledged"
                )
                assert storm.record.judge() == []
            print(dict(storm.record.failures))
        finally:
            storm.end()
        kills -= storm.kills


def test_processes(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    blow(f"{tmp_path}/g", pytestconfig)


@pytest.mark.slow
def test_short_terms_and_power(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Stopped writers are taken for dead, and wake again."""
    blow(f"{tmp_path}/g", pytestconfig, fast=True, durability="power")


@pytest.mark.slow
def test_threads(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    blow(f"{tmp_path}/g", pytestconfig, workers=2, threads=3)


@pytest.mark.slow
def test_servers(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Servers are killed; clients send what has an idempotency key again, to any other."""
    blow(f"{tmp_path}/g", pytestconfig, workers=3, servers=2)


@pytest.mark.slow
@pytest.mark.s3
def test_bucket(s3_endpoint: S3Endpoint, s3_uri: str, pytestconfig: pytest.Config) -> None:
    blow(s3_uri, pytestconfig, workers=3, storage_options=s3_endpoint.storage_options)


@pytest.mark.slow
@pytest.mark.s3
@pytest.mark.parametrize("place", ["", "__manifest", "__recovery", "nodes"])
def test_bucket_that_loses_replies(
    place: str, s3_endpoint: S3Endpoint, s3_uri: str, pytestconfig: pytest.Config
) -> None:
    """One request in twelve is executed and not answered, of all or of those at one place."""
    chance = random.Random(place)
    with start_proxy(s3_endpoint) as proxy:

        def is_lost(request: S3Request) -> bool:
            return place in request.key and chance.random() < 1 / 12

        proxy.seen = is_lost  # type: ignore[method-assign]
        through = proxy.endpoint.storage_options
        options = {"storage_options": s3_endpoint.storage_options, "workers": 3}
        blow(s3_uri, pytestconfig, through=through, **options)
