"""``pipeline.yaml``: data that is not in our envelope."""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import pipeline
from omnigraph.errors import GraphError, InvalidInput, ValidationFailure
from omnigraph.graph.open import init_graph
from omnigraph.pipeline.inputs.mapping import parse_mapping, read_mapping
from omnigraph.pipeline.inputs.reader_options import require_lossless_options

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph import Graph

SCHEMA = """
node Person {
    mail: String @key
    name: String
    born: Date?
    age: I32? @range(0..150)
    city: String?
    seen: DateTime?
    tags: [String]?
}

edge Knows: Person -> Person {
    since: Date?
    @key(src, dst)
}
"""
PEOPLE = """mail;first;last;dob;age;updated;gone;friend
a@x;Ann;Lee;03.02.1990;30;1;;b@x
b@x;Ben;Ott;;40;1;;
a@x;Anna;Lee;03.02.1990;31;2;;b@x
c@x;Cat;Ray;;;1;yes;
x@y;Xen;Foe;;;1;;
"""
MAPPING = """
sources:
  - path: people*.csv
    options: {sep: ";"}
    where: mail NOT LIKE '%@y'
    latest: {by: [mail], order: updated}
    delete: gone = 'yes'
    into:
      - type: Person
        properties:
          mail: mail
          name: {sql: "concat(first, ' ', last)"}
          born: {column: dob, cast: date, format: dd.MM.yyyy}
          age: {column: age, cast: int}
          city: {constant: Bonn}
      - type: Knows
        from: mail
        to: friend
        where: friend IS NOT NULL
  - path: more.ndjson
    into:
      - type: Person
        properties: {mail: m, name: n, tags: tags, seen: {column: s, cast: datetime}}
"""
MORE = [
    {"m": "d@x", "n": "Dan", "tags": ["p", "q"], "s": "2026-01-02T03:04:05Z"},
    {"m": "e@x", "n": "Eve", "tags": None, "s": None},
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load(
        {"Person": [{"mail": "c@x", "name": "Cat"}, {"mail": "z@x", "name": "Zoe"}]}, mode="append"
    )
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "more.ndjson").write_text("\n".join(map(json.dumps, MORE)))
    (tmp_path / "pipeline.yaml").write_text(MAPPING)
    return graph


def people(graph: Graph) -> dict[str, dict[str, Any]]:
    query = "query q() { match { $p: Person } return { $p } }"
    return {row["p"]["mail"]: row["p"] for row in graph.query(query)}


def test_a_mapping_picks_casts_fills_deletes_and_keeps_the_latest(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    mapping = read_mapping(tmp_path / "pipeline.yaml")
    done = pipeline.load(graph, mapping, mode="merge").to_json()
    assert (done["total_entities"], done["deleted"]) == (5, 1)
    found = people(graph)
    assert sorted(found) == ["a@x", "b@x", "d@x", "e@x", "z@x"]
    ann = found["a@x"]
    assert (ann["name"], str(ann["born"]), ann["age"], ann["city"]) == (
        "Anna Lee",
        "1990-02-03",
        31,
        "Bonn",
    )
    assert found["d@x"]["tags"] == ["p", "q"]
    assert found["d@x"]["seen"].isoformat() == "2026-01-02T03:04:05+00:00"
    edges = graph.query("query q() { match { $p knows $q } return { $p.mail as a, $q.mail as b } }")
    assert edges.rows() == [{"a": "a@x", "b": "b@x"}]


def test_what_is_wrong_is_told_with_file_and_record(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    wrong = tmp_path / "people2.csv"
    wrong.write_text(
        "mail;first;last;dob;age;updated;gone;friend\n"
        "f@x;F;F;1990/02/03;12;1;;\n"
        "g@x;G;G;;old;1;;nobody\n"
        "h@x;H\n"
        "i@x;I;I;;200;1;;i@x\n"
    )
    head = graph.commits.list().commits[0].id
    with pytest.raises(ValidationFailure) as caught:
        pipeline.load(graph, read_mapping(tmp_path / "pipeline.yaml"), mode="merge")
    told = {
        (item["rule"], item["file"].rpartition("/")[2], item["record"])
        for item in caught.value.details["violations"]
    }
    assert {("type", "people2.csv", 1), ("type", "people2.csv", 2)} <= told
    assert {("record", "people2.csv", 3), ("range", "people2.csv", 4)} <= told
    assert graph.commits.list().commits[0].id == head


def test_an_edge_without_its_node_is_told_with_file_and_record(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "k.csv").write_text("x,y\na@x,b@x\nz@x,nobody\n")
    (tmp_path / "people.csv").unlink()
    body = {"path": "k.csv", "into": [{"type": "Knows", "from": "x", "to": "y"}]}
    mapping = parse_mapping({"sources": [body]}, tmp_path)
    with pytest.raises(ValidationFailure) as caught:
        pipeline.load(graph, mapping, mode="merge")
    told = [
        (item["rule"], item["file"].rpartition("/")[2], item["record"], item["property"])
        for item in caught.value.details["violations"]
    ]
    assert ("endpoint", "k.csv", 2, "to") in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"into": [{"type": "Person", "properties": {"mail": "mial"}}]}, "no column 'mial'"),
        ({"into": [{"type": "Persn", "properties": {"mail": "mail"}}]}, "no type 'Persn'"),
        ({"into": [{"type": "Person", "properties": {"male": "mail"}}]}, "male"),
        ({"where": "no_such = 1"}, "no_such"),
        ({"where": "count(*) > 1"}, "is not valid: .*count"),
        ({"where": "1 = 1) OR (1 = 1"}, "is not valid: .*SYNTAX"),
        (
            {"into": [{"type": "Person", "properties": {"mail": {"sql": "max(mail)"}}}]},
            "is not valid",
        ),
        ({"options": {"mode": "DROPMALFORMED"}}, "'mode' cannot be used: .*dropped"),
        ({"options": {"header": False}}, "'header' cannot be used"),
        ({"latest": {"by": ["mail"], "order": "when"}}, "no column 'when'"),
        ({"delete": "gone = 'yes'"}, "needs the mode merge"),
        ({"path": "nothing.csv"}, "there is no file"),
    ],
)
def test_a_mapping_that_does_not_fit_its_source_is_refused_before_anything_is_read(
    spark: SparkSession, graph: Graph, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    target = {"type": "Person", "properties": {"mail": "mail", "name": "first"}}
    body = {"path": "people.csv", "options": {"sep": ";"}, "into": [target], **change}
    with pytest.raises(GraphError, match=message):
        pipeline.load(graph, parse_mapping({"sources": [body]}, tmp_path), mode="append")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "not an object"),
        ({"source": []}, "no key 'source'"),
        ({"sources": []}, "a list that is not empty"),
        ({"sources": [{"path": 7, "into": [{"type": "P"}]}]}, "path"),
        ({"sources": [{"path": "a", "into": [{"from": "x"}]}]}, "has no type"),
        ({"sources": [{"path": "a", "format": "xml", "into": [{"type": "P"}]}]}, "xml"),
        (
            {
                "sources": [
                    {"path": "a", "into": [{"type": "P", "id": {"column": "a", "sql": "b"}}]}
                ]
            },
            "needs one of",
        ),
        (
            {
                "sources": [
                    {"path": "a", "into": [{"type": "P", "id": {"column": "a", "cast": "x"}}]}
                ]
            },
            "cast",
        ),
    ],
)
def test_a_mapping_of_the_wrong_shape_is_refused_with_its_place(
    tmp_path: Path, body: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_mapping(body, tmp_path)


def test_a_mapping_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("sources: [")
    with pytest.raises(InvalidInput, match="is not YAML"):
        read_mapping(tmp_path / "p.yaml")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_mapping(tmp_path / "q.yaml")


GOOD = """sources:
  - path: people.csv
    options: {sep: ";"}
    where: mail IS NOT NULL
    into:
      - type: Person
        properties:
          mail: mail
          name: first
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type: Person", "tpye: Person", "p.yaml, line 6: .*no key 'tpye'.*type"),
        ("path: people.csv", "path: 7", "p.yaml, line 2: .*path.* is not a text"),
        ("mail: mail", "mail: {column: mail, cast: day}", "p.yaml, line 8: .*is 'day'.*date"),
        ("name: first", "mail: first", "p.yaml, line 9: .*'mail' already occurs on line 8"),
        ("into:", "into: [", "p.yaml, line 6 is not YAML"),
        ("sources:", "sources", "p.yaml, line 2 is not YAML"),
    ],
)
def test_what_is_wrong_with_the_shape_of_a_mapping_is_told_with_file_and_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "p.yaml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InvalidInput, match=f"(?s){message}") as caught:
        read_mapping(tmp_path / "p.yaml")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mail: mail", "mail: mial", "p.yaml, line 8: .*no column 'mial'"),
        ("type: Person", "type: Persn", "p.yaml, line 6: .*no type 'Persn'"),
        ("name: first", "nme: first", "p.yaml, line 6: Person, nme"),
        ("mail IS", "mial IS", "p.yaml, line 4: 'mial IS NOT NULL' is not valid"),
    ],
)
def test_what_does_not_fit_the_source_or_the_schema_is_told_with_file_and_line(
    spark: SparkSession, graph: Graph, tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "p.yaml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(GraphError, match=f"(?s){message}") as caught:
        pipeline.load(graph, read_mapping(tmp_path / "p.yaml"), mode="append")
    assert caught.value.remedy


def test_files_whose_headers_differ_are_not_read_by_position(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "h1.csv").write_text("mail,name\na@x,Ann\n")
    (tmp_path / "h2.csv").write_text("name,mail\nBen,b@x\n")
    into = [{"type": "Person", "properties": {"mail": "mail", "name": "name"}}]
    mapping = parse_mapping({"sources": [{"path": "h*.csv", "into": into}]}, tmp_path)
    with pytest.raises(InvalidInput, match=r"2\.csv cannot be read: .*header"):
        pipeline.load(graph, mapping, mode="append", spark=spark)


@pytest.mark.parametrize("damage", ["no footer", "another type"])
def test_a_mapped_file_that_cannot_be_read_is_named(
    spark: SparkSession, graph: Graph, tmp_path: Path, damage: str
) -> None:
    good = pa.table({"mail": ["a@x"], "name": ["Ann"], "age": pa.array([1], pa.int64())})
    pq.write_table(good, tmp_path / "1.parquet")
    bad = tmp_path / "2.parquet"
    if damage == "no footer":
        bad.write_bytes(b"PAR1 and no more")
        paths = str(bad)
    else:
        pq.write_table(good.set_column(2, "age", pa.array(["old"])), bad)
        paths = "*.parquet"
    into = [{"type": "Person", "properties": {name: name for name in good.column_names}}]
    mapping = parse_mapping({"sources": [{"path": paths, "into": into}]}, tmp_path)
    with pytest.raises(InvalidInput, match=r"2\.parquet cannot be read") as refused:
        pipeline.load(graph, mapping, mode="append", spark=spark)
    assert refused.value.code == "load.corrupt"


def test_of_rows_about_one_the_last_counts_by_number_and_none_is_lost(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    source = tmp_path / "with a space, é.csv"
    source.write_text(
        "mail,name,n,day\n"
        "1@x,nine,9,02.01.2026\n1@x,ten,10,01.02.2026\n"
        "2@x,early,5,05.05.2026\n2@x,tie,7,06.06.2026\n2@x,later tie,7,06.06.2026\n"
        "3@x,good,1,01.01.2026\n3@x,broken,2\n"
        ",nobody,1,01.01.2026\n,nobody else,2,01.01.2026\n"
    )

    def load(order: Any) -> tuple[dict[str, str], set[tuple[str, int]]]:
        into = [{"type": "Person", "properties": {"mail": "mail", "name": "name"}}]
        each = {"path": "with*.csv", "latest": {"by": ["mail"], "order": order}, "into": into}
        report = tmp_path / f"bad-{len(str(order))}"
        mapping = parse_mapping({"sources": [each]}, tmp_path)
        pipeline.load(graph, mapping, mode="merge", on_error="quarantine", report=str(report))
        told = pq.read_table(report / "violations.parquet").to_pylist()
        names = {mail: row["name"] for mail, row in people(graph).items() if mail[0].isdigit()}
        return names, {(item["file"], item["record"]) for item in told}

    names, told = load("n")
    assert names == {"1@x": "ten", "2@x": "later tie", "3@x": "good"}
    assert told == {(str(source), record) for record in (7, 8, 9)}
    names, _ = load({"column": "day", "cast": "date", "format": "dd.MM.yyyy"})
    assert names == {"1@x": "ten", "2@x": "later tie", "3@x": "good"}


def test_a_time_is_the_same_in_every_time_zone_and_with_every_parser(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    # In the time zone of the session there is no such hour on that day, were it a local one.
    (tmp_path / "t.ndjson").write_text('{"m": "t@x", "s": "2024-03-10T02:30:00.123456Z"}\n')
    value = {"column": "s", "cast": "datetime"}
    into = [{"type": "Person", "properties": {"mail": "m", "name": "m", "seen": value}}]
    mapping = parse_mapping({"sources": [{"path": "t.ndjson", "into": into}]}, tmp_path)
    others = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.ansi.enabled": "false",
    }
    before = {key: spark.conf.get(key) for key in others}
    try:
        for key, other in others.items():
            spark.conf.set(key, other)
        pipeline.load(graph, mapping, mode="merge", spark=spark)
    finally:
        for key, usual in before.items():
            spark.conf.set(key, str(usual))
    assert people(graph)["t@x"]["seen"].isoformat() == "2024-03-10T02:30:00.123456+00:00"


PRETTY = json.dumps({"m": "a@x"}, indent=2)


@pytest.mark.parametrize(
    ("name", "body", "is_lossy"),
    [
        ("one.json", PRETTY, False),
        ("array.json", f"[{PRETTY},{PRETTY}]\n", False),
        ("damaged.json", PRETTY[:-3], False),
        ("many.json", f"{PRETTY}\n{PRETTY}\n", True),
        ("many.json.gz", f"{PRETTY}\n{PRETTY}\n", True),
    ],
)
def test_json_over_several_lines_of_which_spark_would_read_the_first_is_refused(
    tmp_path: Path, name: str, body: str, is_lossy: bool
) -> None:
    packed = gzip.compress(body.encode()) if name.endswith(".gz") else body.encode()
    (tmp_path / name).write_bytes(packed)
    text = (
        f"sources:\n  - path: {name}\n    options: {{multiLine: true}}\n"
        "    into: [{type: Person, properties: {mail: m}}]\n"
    )
    (tmp_path / "p.yaml").write_text(text)
    [source] = read_mapping(tmp_path / "p.yaml").sources
    refused = pytest.raises(InvalidInput, match=r"p\.yaml, line 3: .*multiLine.*many\.json")
    with refused if is_lossy else nullcontext():
        require_lossless_options(source, [str(tmp_path / name)])


def test_columns_of_a_source_may_have_any_name(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text("mail,_at,_file,_rank,_delete,a b,`c`\nk@x,1,2,3,4,5,6\n")
    properties = {"mail": "mail", "name": "`c`", "city": "_file", "age": "_at"}
    into = [{"type": "Person", "properties": properties}]
    latest = {"by": ["a b"], "order": "_rank"}
    each = {"path": "own.csv", "latest": latest, "into": into}
    pipeline.load(graph, parse_mapping({"sources": [each]}, tmp_path), mode="append", spark=spark)
    found = people(graph)["k@x"]
    assert (found["name"], found["city"], found["age"]) == ("6", "2", 1)


@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, "{a: " * 20_000, "- " * 20_000 + "x", "[" * 20_000 + "]" * 20_000],
    ids=["open lists", "open objects", "dashes", "lists"],
)
def test_a_deeply_nested_mapping_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(f"sources: {text}" if text[0] != "-" else text)
    with pytest.raises(InvalidInput) as caught:
        read_mapping(path)
    assert caught.value.code == "mapping.bad_yaml"
    assert "pipeline.yaml" in caught.value.message
