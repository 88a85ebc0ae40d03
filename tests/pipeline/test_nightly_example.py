"""The example of a nightly load runs on Spark, and says what it promises."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "nightly_csv.py"


def test_a_day_is_merged_when_it_is_right_and_leaves_no_trace_when_it_is_not(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLE))["main"](tmp_path, spark)
    told = capsys.readouterr().out
    sold = "sold: [{'product': 'book', 'pieces': 3}, {'product': 'lamp', 'pieces': 1}]"
    assert told.count(sold) == 2
    assert "8 entities on nightly/2026-11-15" in told
    assert "refused, and nothing changed" in told
