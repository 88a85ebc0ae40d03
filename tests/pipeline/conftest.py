"""One Spark session for all tests here, and graphs that are loaded by both engines at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.pipeline.spark.session import SparkOptions, open_session
from omnigraph.testing.engine_parity import Twins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Quick to start and quiet; a cluster would be configured otherwise.
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
# Jobs of a few rows: compiling and replanning each took a third of their time.
UNCOMPILED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs all of them: a session is dear."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session(SparkOptions(master="local[2]", conf=CONF | UNCOMPILED))
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def as_users_have_it(spark: SparkSession) -> Iterator[None]:
    """Plans are compiled, and changed while they run, as without any setting."""
    for key in UNCOMPILED:
        spark.conf.unset(key)
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    yield
    for key, value in UNCOMPILED.items():
        spark.conf.set(key, value)


@pytest.fixture
def twins(tmp_path: Path, spark: SparkSession) -> Twins:
    return Twins(tmp_path, spark)
