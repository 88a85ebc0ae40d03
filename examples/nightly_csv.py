"""The files of the day become one commit, on Spark: checked on a branch before anybody sees them.

``omnigraph.pipeline.load`` hands the work to Spark executors, which stage the rows; the driver
publishes once. Run again with the same files, it has no second effect.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import omnigraph
from omnigraph import pipeline
from omnigraph.errors import ValidationFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.api.graph import Graph

SCHEMA = """\
node Customer {
    number: I64 @key
    name: String
}

node Product {
    code: String @key
    price: F64 @range(0.0..)
}

edge Bought: Customer -> Product {
    day: Date
    pieces: I32 @range(1..1000)
    @key(src, dst, day)
}
"""

FILES = {
    "Customer": "number,name\n1,Ada\n2,Bo\n3,Cy\n",
    "Product": "code,price\nlamp,19.5\nbook,7\n",
    "Bought": "from,to,day,pieces\n1,lamp,2026-11-15,1\n1,book,2026-11-15,2\n3,book,2026-11-15,1\n",
}
# One of tomorrow's rows names a product that nobody has.
TOMORROW = "from,to,day,pieces\n2,lamp,2026-11-16,1\n2,ghost,2026-11-16,1\n"

SALES = """\
query sales() {
    match { $c $b:bought $p }
    return { $p.code as product, sum($b.pieces) as pieces }
    order { product }
}
"""


def main(place: Path, spark: SparkSession | None = None) -> None:
    with omnigraph.init(place / "shop.omni", SCHEMA, actor="nightly") as graph:
        night(graph, write(place / "monday", FILES), day="2026-11-15", spark=spark)
        say(f"sold: {graph.query(SALES).rows()}")
        try:
            night(
                graph, write(place / "tuesday", {"Bought": TOMORROW}), day="2026-11-16", spark=spark
            )
        except ValidationFailure as wrong:
            say(f"refused, and nothing changed: {wrong.details['violations'][0]['message']}")
        say(f"sold: {graph.query(SALES).rows()}")


def night(graph: Graph, files: dict[str, str], *, day: str, spark: SparkSession | None) -> None:
    """Load the files of a day onto a branch, look at it, and merge."""
    branch = f"nightly/{day}"
    loaded = pipeline.load(
        graph,
        files,
        mode="merge",
        branch=branch,
        from_="main",
        message=f"files of {day}",
        engine="spark",
        spark=spark,
    )
    say(f"{day}: {loaded.to_json()['total_entities']} entities on {branch}")
    for part in graph.diff("main", branch).summary():
        say(f"  {part.entity.name}: +{part.inserted} ~{part.updated} -{part.deleted}")
    graph.merge(branch, delete_branch=True)


def write(place: Path, files: dict[str, str]) -> dict[str, str]:
    """The files of a day, by type."""
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.csv").write_text(text, encoding="utf-8")
    return {name: str(place / f"{name}.csv") for name in files}


def say(text: str) -> None:
    print(text)  # noqa: T201 - an example talks


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
