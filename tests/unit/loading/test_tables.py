"""Tables of one type: CSV, Parquet, Arrow, pandas and polars."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.testing.kit import FAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.graph import Graph

WIDE = """
node T {
    key: String @key
    a: I32?
    b: I64?
    c: U64?
    d: F32?
    e: F64?
    f: Bool?
    g: Date?
    h: DateTime?
    i: [String]?
    j: Vector(2)?
    k: Blob?
    l: enum(x, y)?
    m: [Date]?
}
"""
ROW = {
    "key": "k",
    "a": -1,
    "b": 2**53 + 1,
    "c": 2**64 - 1,
    "d": 0.5,
    "e": 0.1,
    "f": True,
    "g": dt.date(2020, 1, 2),
    "h": dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
    "i": ["p", "q"],
    "j": [1.0, 2.0],
    "k": b"raw",
    "l": "x",
    "m": [dt.date(2020, 1, 2)],
}
SPELLED = {
    **ROW,
    "g": "2020-01-02",
    "h": "2020-01-02T03:04:05.000006Z",
    "k": "base64:cmF3",
    "m": ["2020-01-02"],
}
SCHEMA = pa.schema(
    [
        *(("key", pa.string()), ("a", pa.int32()), ("b", pa.int64()), ("c", pa.uint64())),
        *(("d", pa.float32()), ("e", pa.float64()), ("f", pa.bool_()), ("g", pa.date32())),
        *(("h", pa.timestamp("us", tz="UTC")), ("i", pa.list_(pa.string()))),
        *(("j", pa.list_(pa.float32(), 2)), ("k", pa.large_binary()), ("l", pa.string())),
        ("m", pa.list_(pa.date32())),
    ]
)
TABLE = pa.Table.from_pylist([ROW, {"key": "null"}], schema=SCHEMA)


def stored(tools: Any, graph: Graph) -> list[dict[str, Any]]:
    return [record["data"] for record in tools.content(graph)]


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def arrow(table: pa.Table, *, stream: bool = False) -> bytes:
    out = io.BytesIO()
    writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema)
    with writer:
        writer.write_table(table)
    return out.getvalue()


SOURCES: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "reader": TABLE.to_reader,
    "parquet": lambda: io.BytesIO(parquet(TABLE)),
    "parquet bytes": lambda: parquet(TABLE),
    "packed parquet": lambda: gzip.compress(parquet(TABLE)),
    "arrow": lambda: arrow(TABLE),
    "arrow stream": lambda: arrow(TABLE, stream=True),
    "polars": lambda: pl.from_arrow(TABLE),
    "dictionaries": lambda: TABLE.set_column(0, "key", TABLE["key"].dictionary_encode()),
    "large types": lambda: TABLE.set_column(
        0, "key", TABLE["key"].cast(pa.large_string())
    ).set_column(9, "i", TABLE["i"].cast(pa.large_list(pa.large_string()))),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_typed_tables_of_every_kind_are_taken(
    make_graph: Callable[..., Graph], tools: Any, kind: str
) -> None:
    graph = make_graph(WIDE)
    form = {"arrow stream": "arrow", "packed parquet": "parquet"}.get(kind)
    result = graph.load(SOURCES[kind](), mode="append", type="T", format=form)
    assert result.total_nodes == 2
    assert stored(tools, graph) == [SPELLED, {**dict.fromkeys(SPELLED), "key": "null"}]


def test_a_pandas_frame_misses_values_by_nan(make_graph: Callable[..., Graph], tools: Any) -> None:
    graph = make_graph(WIDE)
    frame = pd.DataFrame(
        {
            "key": ["a", "b"],
            "a": [1, None],
            "e": [0.5, math.nan],
            "g": pd.to_datetime(["2020-01-02", None]),
            "h": pd.to_datetime(["2020-01-02T03:04:05.0000069", None]),
            "j": [[1, 2], None],
            "f": [True, None],
        },
        index=[7, 8],
    )
    graph.load(frame, mode="append", type="T")
    first, second = stored(tools, graph)
    assert {name: first[name] for name in "aefghj"} == {
        "a": 1,
        "e": 0.5,
        "f": True,
        "g": "2020-01-02",
        "h": "2020-01-02T03:04:05.000006Z",
        "j": [1, 2],
    }
    assert {second[name] for name in "aefghj"} == {None}


@pytest.mark.parametrize(
    ("prop", "good", "kept", "bad"),
    [
        ("a", pa.array([5.0]), 5, pa.array([5.5])),
        ("a", pa.array([2**31 - 1]), 2**31 - 1, pa.array([2**31])),
        ("a", pa.array([Decimal(7)]), 7, pa.array([Decimal("7.5")])),
        ("b", pa.array(["17"]), 17, pa.array(["17.0"])),
        ("b", pa.array([float(2**53)]), 2**53, pa.array([float(2**54)])),
        ("c", pa.array([1], pa.int8()), 1, pa.array([-1])),
        ("d", pa.array([1.5]), 1.5, pa.array([1e39])),
        ("e", pa.array([3], pa.int64()), 3, pa.array(["3"])),
        ("e", pa.array([Decimal("0.5")]), 0.5, pa.array([True])),
        ("f", pa.array([True]), True, pa.array([1])),
        ("g", pa.array(["2020-01-02"]), "2020-01-02", pa.array(["2020-02-30"])),
        (
            "g",
            pa.array([dt.datetime(2020, 1, 2)]),  # noqa: DTZ001 - what pandas calls a date
            "2020-01-02",
            pa.array([dt.datetime(2020, 1, 2, 1)]),  # noqa: DTZ001
        ),
        (
            "h",
            pa.array([dt.datetime(2020, 1, 2)]),  # noqa: DTZ001 - naive is UTC
            "2020-01-02T00:00:00.000000Z",
            pa.array([dt.date(2020, 1, 2)]),
        ),
        (
            "h",
            pa.array([-1], pa.timestamp("ns")),
            "1969-12-31T23:59:59.999999Z",
            pa.array([2**62], pa.timestamp("ms")),
        ),
        ("i", pa.array([["a"]]), ["a"], pa.array([[1]])),
        ("j", pa.array([[1, 2]]), [1, 2], pa.array([[1, 2, 3]])),
        ("k", pa.array([b"raw"]), "base64:cmF3", pa.array(["raw"])),
        ("l", pa.array(["x"]), "x", pa.array([5])),
        ("m", pa.array([["2020-01-02"]]), ["2020-01-02"], pa.array([["x"]])),
    ],
)
def test_a_column_is_converted_where_nothing_is_lost(
    make_graph: Callable[..., Graph],
    tools: Any,
    *,
    prop: str,
    good: pa.Array,
    kept: Any,
    bad: pa.Array,
) -> None:
    graph = make_graph(WIDE)
    graph.load(pa.table({"key": ["x"], prop: good}), mode="append", type="T")
    assert stored(tools, graph)[0][prop] == kept
    values = pa.chunked_array([good, bad]) if good.type == bad.type else pa.chunked_array([bad])
    keys = [f"k{n}" for n in range(len(values))]
    error = tools.refused(graph, pa.table({"key": keys, prop: values}), type="T")
    assert tools.violations(error) == [("type", len(values), None, prop)]


def test_rules_hold_for_tables_too(make_graph: Callable[..., Graph], tools: Any) -> None:
    graph = make_graph(WIDE)
    table = pa.table(
        {
            "key": ["1", "2", "3", None, "1"],
            "e": [1.0, math.nan, math.inf, 0.0, 0.0],
            "l": ["x", "z", "y", "x", "x"],
            "i": [["a"], ["b", None], [], None, None],
        }
    )
    error = tools.refused(graph, table, type="T")
    assert sorted(tools.violations(error)) == [
        ("enum", 2, None, "l"),
        ("finite", 2, None, "e"),
        ("finite", 3, None, "e"),
        ("key", 1, None, None),
        ("list", 2, None, "i"),
        ("required", 4, None, "key"),
    ]


def test_columns_must_be_those_of_the_type(graph: Graph, tools: Any) -> None:
    wrong = pa.table({"name": ["a"], "agee": [1], "from": ["x"]})
    error = tools.refused(graph, wrong, type="Person")
    assert tools.violations(error) == [
        ("unknown_property", None, None, "agee"),
        ("unknown_property", None, None, "from"),
    ]
    assert "did you mean `age`?" in error.message
    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["name", "name"])
    assert tools.refused(graph, twice, type="Person").details["counts"] == {"envelope": 1}
    nowhere = pa.table({"from": ["a"], "src": ["a"]})
    assert tools.violations(tools.refused(graph, nowhere, type="Knows")) == [
        ("envelope", None, None, "from"),
        ("envelope", None, None, "to"),
    ]


def test_a_table_must_say_its_type(graph: Graph, tools: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name\na\n")
    for source in (pa.table({"name": ["a"]}), path, parquet(pa.table({"name": ["a"]}))):
        error = tools.refused(graph, source)
        assert error.code == "load.type_missing"
        assert "--type" in (error.remedy or "")


def test_several_tables_are_one_commit(graph: Graph, tools: Any, tmp_path: Path) -> None:
    path = tmp_path / "knows.csv"
    path.write_text("src,dst,since\na,b,2020-01-01\n")
    people = pd.DataFrame({"name": ["a", "b"]})
    result = graph.load({"Person": people, "Knows": path, "Note": [{"text": "t"}]}, mode="append")
    assert (result.total_nodes, result.total_edges) == (3, 1)
    assert len(graph.commits.list().commits) == 2
    empty = graph.load({"Knows": pa.table({"from": [], "to": []})}, mode="overwrite")
    assert empty.deleted == 1


def test_edges_of_tables_may_have_ids_or_get_them(graph: Graph, tools: Any) -> None:
    graph.load([tools.person("a"), tools.person("b")], mode="append")
    table = pa.table({"id": ["k", None], "from": ["a", "b"], "to": ["b", "a"]})
    graph.load(table, mode="append", type="Knows")
    found = [edge["id"] for edge in tools.content(graph, "Knows")]
    assert found[0] == "k"
    assert len(found[1]) == 26
    nowhere = pa.table({"from": ["a", None], "to": [None, "b"]})
    error = tools.refused(graph, nowhere, type="Knows")
    assert tools.violations(error) == [
        ("required", 1, None, "to"),
        ("required", 2, None, "from"),
    ]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_damaged_file_is_told(graph: Graph, tools: Any, tmp_path: Path, kind: str) -> None:
    table = pa.table({"name": [f"p{n}" for n in range(1_000)]})
    whole = parquet(table) if kind == "parquet" else arrow(table)
    for broken in (whole[: len(whole) // 2], whole[:8] + b"\0" * (len(whole) - 8), whole[:6]):
        path = tmp_path / f"people.{kind}"
        path.write_bytes(broken)
        error = tools.refused(graph, path, type="Person")
        assert error.code == "load.corrupt"
        assert str(path) in error.message


# --- CSV ---------------------------------------------------------------------------------------

CSV = """\
key,a,b,c,d,e,f,g,h,i,j,k,l,m
k,-1,9007199254740993,18446744073709551615,0.5,1e-1,TRUE,2020-01-02,2020-01-02T03:04:05.000006Z,\
"[""p"",""q""]","[1,2]",base64:cmF3,x,"[""2020-01-02""]"
null,,,,,,,,,,,,,
"""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_csv_is_text_that_is_read_by_the_type_of_its_column(
    make_graph: Callable[..., Graph], tools: Any, pack: Callable[[bytes], bytes]
) -> None:
    graph = make_graph(WIDE)
    graph.load(pack(CSV.encode()), mode="append", type="T", format="csv")
    assert stored(tools, graph) == [SPELLED, {**dict.fromkeys(SPELLED), "key": "null"}]


def test_a_whole_number_with_a_point_is_whole_in_csv_too(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    # What pandas writes of a column of integers with a gap.
    graph = make_graph(WIDE)
    graph.load(
        b"key,a,c\np,-7.0,\nq,,18446744073709551615.00\n", mode="append", type="T", format="csv"
    )
    mixed = b'key,a,i\nr,3.0,"[""p""]"\n'
    graph.load(mixed, mode="append", type="T", format="csv")
    found = {row["key"]: (row["a"], row["c"]) for row in stored(tools, graph)}
    assert found == {"p": (-7, None), "q": (None, 18446744073709551615), "r": (3, None)}


def test_a_header_that_is_not_utf8_is_named(graph: Graph, tools: Any) -> None:
    error = tools.refused(graph, b"name,m\xff\na,b\n", type="Person", format="csv")
    assert error.code == "load.corrupt"
    assert "its header is not UTF-8" in error.message


@pytest.mark.parametrize(
    ("prop", "cell"),
    [
        ("a", "1.5"),
        ("a", "1."),
        ("a", ".0"),
        ("a", "2147483648"),
        ("a", "2147483648.0"),
        ("a", " 1"),
        ("b", "x"),
        ("d", "1e39"),
        ("e", "nan"),
        ("e", "1,5"),
        ("f", "1"),
        ("f", "yes"),
        ("g", "01.02.2020"),
        ("h", "2020-01-02"),
        ("i", "p"),
        ("i", "[1]"),
        ("j", "[1]"),
        ("k", "raw"),
    ],
)
def test_a_cell_that_is_not_of_its_type_is_named(
    make_graph: Callable[..., Graph], tools: Any, prop: str, cell: str
) -> None:
    graph = make_graph(WIDE)
    data = f'key,{prop}\nx,\n"y\nz","{cell}"\n'.encode()
    error = tools.refused(graph, data, type="T", format="csv")
    (found,) = error.details["violations"]
    assert (found["rule"], found["record"], found["property"]) == ("type", 2, prop)
    assert found["value"] == cell


def test_an_empty_cell_is_null_and_a_quoted_one_is_empty(graph: Graph, tools: Any) -> None:
    data = b'name,mail,city\na,"",""\nb,,x\n'
    graph.load(data, mode="append", type="Person", format="csv")
    assert [(row["mail"], row["city"]) for row in stored(tools, graph)] == [("", ""), (None, "x")]


def test_rows_of_the_wrong_length_keep_the_numbers_of_the_others(graph: Graph, tools: Any) -> None:
    data = b"name,age\na,1\nb\nc,x\nd,1,2\ne,y\n"
    error = tools.refused(graph, data, type="Person", format="csv")
    assert tools.violations(error) == [
        ("csv", 2, 3, None),
        ("type", 3, 4, "age"),
        ("csv", 4, 5, None),
        ("type", 5, 6, "age"),
    ]


def test_a_file_of_nothing_but_wrong_rows_is_given_up(graph: Graph, tools: Any) -> None:
    data = b"name,age\n" + b"a\n" * 5_000
    assert tools.refused(graph, data, type="Person", format="csv").code == "load.corrupt"


def test_text_that_is_not_utf8_is_named(graph: Graph, tools: Any) -> None:
    data = b"name,mail\na,x\nb,\xff\n\xfe,y\n"
    error = tools.refused(graph, data, type="Person", format="csv")
    assert sorted(tools.violations(error)) == [
        ("encoding", 2, 3, "mail"),
        ("encoding", 3, 4, "name"),
    ]
    assert tools.refused(graph, b"\xff\na\n", type="Person", format="csv").code == "load.corrupt"


def test_a_file_without_a_header_is_no_table(graph: Graph, tools: Any) -> None:
    assert tools.refused(graph, b"", type="Person", format="csv").code == "load.corrupt"
    assert tools.refused(graph, b"a,b\n", type="Person", format="csv").code.startswith("data.")


def _not_utf8(*rows: bytes) -> pa.Array:
    """What Arrow calls a string, though it is none: nobody looks when a file is read."""
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(rows))]
    return pa.Array.from_buffers(pa.string(), len(rows), buffers)


@pytest.mark.parametrize("form", ["table", "parquet", "arrow", "dictionary"])
@pytest.mark.parametrize("prop", ["name", "mail"])
def test_strings_of_a_table_that_are_not_utf8_are_named(
    graph: Graph, tools: Any, form: str, prop: str
) -> None:
    broken = _not_utf8(b"fine", b"\xffine")
    if form == "dictionary":
        broken = pa.DictionaryArray.from_arrays(pa.array([0, 1]), broken)
    table = pa.table({"name": pa.array(["a", "b"])} | {prop: broken})
    out = io.BytesIO()
    source: Any = table
    if form == "parquet":
        pq.write_table(table, out)
        source = out.getvalue()
    elif form == "arrow":
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        source = out.getvalue()
    error = tools.refused(graph, source, type="Person")
    assert tools.violations(error) == [("encoding", 2, None, prop)]


def test_items_of_lists_that_are_not_utf8_are_named(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph("node T { k: String @key  l: [String]? }")
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _not_utf8(b"ok", b"\xfe"))
    error = tools.refused(graph, pa.table({"k": ["a", "b"], "l": lists}), type="T")
    assert tools.violations(error) == [("encoding", 2, None, "l")]


def test_codes_that_a_dictionary_does_not_have_are_damage(graph: Graph, tools: Any) -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    assert tools.refused(graph, pa.table({"name": codes}), type="Person").code == "load.corrupt"


def test_a_frame_that_arrow_does_not_take_is_read_value_by_value(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph("node T { k: String @key  n: String?  d: U64?  v: Vector(2)? }")
    mixed = pd.DataFrame({"k": ["a", "b", "c"], "n": ["x", 5, None]})
    error = tools.refused(graph, mixed, type="T")
    assert tools.violations(error) == [("type", 2, None, "n")]
    huge = pd.DataFrame({"k": ["a"], "d": pd.Series([2**70], dtype=object)})
    assert tools.violations(tools.refused(graph, huge, type="T")) == [("type", 1, None, "d")]
    half = pd.DataFrame({"k": ["\ud800"]})
    assert tools.violations(tools.refused(graph, half, type="T")) == [("type", 1, None, "k")]
    twice = pd.DataFrame([["a", "b"]], columns=["k", "k"])
    assert tools.violations(tools.refused(graph, twice, type="T")) == [
        ("envelope", None, None, "k")
    ]
    odd = pd.DataFrame({"k": ["a"], "n": [pd.NA], "d": pd.arrays.SparseArray([7])})
    graph.load(odd, mode="append", type="T")
    [record] = tools.content(graph)
    assert record["data"] == {"k": "a", "n": None, "d": 7, "v": None}


def test_categories_of_polars_are_strings(make_graph: Callable[..., Graph], tools: Any) -> None:
    graph = make_graph("node T { k: String @key  e: enum(x, y)? }")
    frame = pl.DataFrame({"k": ["a", "b"], "e": ["x", None]})
    for number, dtype in enumerate((pl.Categorical, pl.Enum(["x", "y"]))):
        keys = pl.Series("k", [f"{number}a", f"{number}b"])
        graph.load(frame.with_columns(keys, pl.col("e").cast(dtype)), mode="append", type="T")
    found = {record["data"]["k"]: record["data"]["e"] for record in tools.content(graph)}
    assert found == {"0a": "x", "0b": None, "1a": "x", "1b": None}


@pytest.mark.parametrize(
    "text",
    ['name,mail\na,"x\nb,y\n', 'name,mail\na,"x', 'name,mail\na,"say ""x\n', 'name\n"a'],
)
def test_a_quote_that_is_never_closed_is_told(graph: Graph, tools: Any, text: str) -> None:
    error = tools.refused(graph, text.encode(), type="Person", format="csv")
    assert tools.violations(error) == [("csv", 1, 2, None)]
    assert "quote" in error.message


@pytest.mark.parametrize(
    "text", ['name,mail\na,5"\n', 'name,mail\n5" pipe,x\n', 'name,mail\n5" pipe,""\n', 'name\n"a"']
)
def test_a_quote_in_the_middle_of_a_cell_is_a_quote(graph: Graph, tools: Any, text: str) -> None:
    assert graph.load(text.encode(), mode="append", type="Person", format="csv").total_nodes == 1


def test_a_cell_that_reaches_into_the_next_block_is_too_large_as_well(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_record_bytes_max=10_000))
    name = "x" * 12_000
    error = tools.refused(graph, f"name\na\n{name}\nb\n".encode(), format="csv", type="Person")
    assert error.code == "load.record_too_large"
    assert error.details["record"] == 2


def test_a_row_in_memory_is_held_to_the_same_size(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_record_bytes_max=10_000))
    names = ["a" * 4_000, "b" * 4_000, "c" * 4_000, "d" * 12_000]
    sources: list[tuple[Any, str | None]] = [
        (pa.table({"name": names}), "Person"),
        (parquet(pa.table({"name": names})), "Person"),
        ([tools.person(name) for name in names], None),
    ]
    for source, type_name in sources:
        error = tools.refused(graph, source, type=type_name)
        assert error.code == "load.record_too_large"
        assert error.details["record"] == 4
    graph.load(pa.table({"name": names[:3]}), mode="append", type="Person")


def test_a_row_without_end_is_too_large(make_graph: Callable[..., Graph], tools: Any) -> None:
    graph = make_graph(limits=replace(FAST, load_record_bytes_max=10_000))
    text = b'name,mail\na,x\nb,"' + b"x\n" * 20_000 + b'"\n'
    error = tools.refused(graph, text, type="Person", format="csv")
    assert error.code == "load.record_too_large"
    assert error.details["record"] == 2
