"""The fast way of reading records and the exact one agree on whatever the fast one accepts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.api.writes import Mode
from omnigraph.loading.columnar_parser import read_block
from omnigraph.loading.json_decoder import Decoder
from omnigraph.loading.json_schemas import JsonSchemas
from omnigraph.loading.record_parser import type_records
from omnigraph.runtime.ids import is_ulid
from omnigraph.testing.examples import examples
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from omnigraph.loading.batches import Parsed

CATALOG = catalog_of(
    """
node Person {
    slug: String @key
    age: I32?
    big: I64?
    small: U32?
    huge: U64?
    half: F32?
    whole: F64?
    fine: Bool?
    born: Date?
    seen: DateTime?
    tags: [String]?
    numbers: [I64]?
    days: [Date]?
    vec: Vector(2)?
    picture: Blob?
    mood: enum(glad, sad)?
    city: String @default("Bonn")
    rank: I32 @default(7)
}
node Note {
    text: String?
}
node Day {
    on: Date @key
}
node Pair {
    left: String
    right: I64
    @key(left, right)
}
edge Knows: Person -> Person {
    since: Date?
}
edge Likes: Person -> Note {
    weight: F64?
    @key(src, dst)
}
"""
)
SHAPES = {mode: JsonSchemas(CATALOG, mode) for mode in Mode}

texts = st.text(st.characters(codec="utf-8"), max_size=6)
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
doubles = st.one_of(
    singles,
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -0.0, 0.1, 89.0, 2**53 + 1, 2**64 - 1, -(2**63)]),
)
dates = st.dates().map(str)
moments = st.sampled_from(["{}", "{}Z", "{}+05:30", "{}-00:00"]).flatmap(
    lambda zoned: st.datetimes().map(lambda moment: zoned.format(moment.isoformat("T")))
)
# What is wrong for most types, and odd for some.
odd = st.one_of(
    st.none(),
    st.booleans(),
    doubles,
    texts,
    st.sampled_from(
        [
            *([], {}, [None], [1, None], ["a", 1], 1e39, 2**31, "7", "", "x", "89.0"),
            *("0000-01-01", "2020-02-30", "2020-1-1", "2020-01-01", "2020-01-01T24:00:00Z"),
            *("2020-01-01T00:00", "2020-01-01T00:00:00.1234567Z", "2020-01-01t00:00:00z"),
            *("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "base64:?", "hello"),
        ]
    ),
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value of the right kind nearly always: one wrong value sends a block the slow way."""
    return st.integers(0, 80).flatmap(lambda n: odd if n == 0 else good)


PROPERTIES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "Person": {
        "slug": mostly(texts),
        "age": mostly(st.integers(-(2**31), 2**31 - 1)),
        "big": mostly(st.integers(-(2**63), 2**63 - 1)),
        "small": mostly(st.integers(0, 2**32 - 1)),
        "huge": mostly(st.integers(0, 2**64 - 1)),
        "half": mostly(singles),
        "whole": mostly(doubles),
        "fine": mostly(st.booleans()),
        "born": mostly(dates),
        "seen": mostly(moments),
        "tags": mostly(st.lists(texts, max_size=3)),
        "numbers": mostly(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)),
        "days": mostly(st.lists(dates, max_size=2)),
        "vec": mostly(st.lists(singles, min_size=2, max_size=2)),
        "picture": mostly(st.sampled_from(["base64:", "base64:aGVsbG8="])),
        "mood": mostly(st.sampled_from(["glad", "sad", "angry"])),
        "city": mostly(texts),
        "rank": mostly(st.integers(-5, 5)),
    },
    "Note": {"text": mostly(texts)},
    "Day": {"on": mostly(dates)},
    "Pair": {"left": mostly(texts), "right": mostly(st.integers(-9, 9))},
    "Knows": {"since": mostly(dates)},
    "Likes": {"weight": mostly(doubles)},
}
EDGES = ("Knows", "Likes")
ids = texts


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A record, with its names in any order."""
    name = draw(st.sampled_from([*PROPERTIES, "Person", "Knows", "gone"]))
    if name == "gone":
        deleted = draw(st.sampled_from(list(PROPERTIES)))
        return {"delete": deleted, "id": draw(mostly(ids))}
    members = draw(st.lists(st.sampled_from(list(PROPERTIES[name])), unique=True, max_size=6))
    if name == "Person" and draw(st.integers(0, 40)):
        members = list(dict.fromkeys(["slug", *members]))
    elif name in {"Day", "Pair"}:
        members = list(PROPERTIES[name])
    data: dict[str, Any] = {}
    for member in members:
        data[member] = draw(PROPERTIES[name][member])
    record: dict[str, Any] = {"edge" if name in EDGES else "type": name}
    if name in EDGES:
        ends = draw(st.sampled_from([ids, ids, st.integers(-5, 5)]))
        record |= {"from": draw(mostly(ends)), "to": draw(mostly(ends))}
    if draw(st.integers(0, 25)) == 0:
        record["id"] = draw(ids)
    if draw(st.integers(0, 25)) == 0:
        data["id"] = draw(ids)
    if len(data) > 0 or draw(st.booleans()):
        record["data"] = data
    shuffled = draw(st.sampled_from([False, False, False, True]))
    return dict(draw(st.permutations(list(record.items())))) if shuffled else record


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Lines of records of few types, as files have them, and sometimes something strange."""
    lines = [
        json.dumps(
            record,
            ensure_ascii=draw(st.booleans()),
            separators=draw(st.sampled_from([(", ", ": "), (",", ":")])),
        )
        for record in draw(st.lists(records(), min_size=1, max_size=6))
    ]
    text = "\n".join(lines) + "\n"
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 3))
        strange = draw(st.sampled_from(STRANGE))
        text = text[:at] + strange + text[at + cut :]
    return text.encode("utf-8", "surrogatepass").replace(b"\n", draw(st.sampled_from(ENDS)))


STRANGE = (
    *("", "\n", " ", "null", "NaN", "Infinity", "-0", "1e400", "1.0", "01", "{}", "[]", "}{"),
    *('"', "\\u0000", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\x", "\t", ",", '"slug": "x", '),
    *(
        '"slug": null, ',
        '"city": null, ',
        '"ci\\u0074y": null, ',
        '"nobody": null, ',
        "\ufeff",
        "é",
    ),
    *('"type": "Note", ', "\x00", "\x0b", "/**/", "true", "tru", '{"type": "Note"}', "\r"),
)
ENDS = (b"\n", b"\n", b"\n", b"\r\n")


def exactly(data: bytes, shapes: JsonSchemas) -> Parsed:
    found = Decoder().feed(data, last=True)
    return type_records(((item.value, item.line) for item in found), shapes)


def content(parsed: Parsed, mode: Mode) -> dict[str, Any]:
    """What was read, without the ids that are fresh each time."""
    rows = {}
    for batch in parsed.batches:
        found = batch.rows.to_pylist()
        for row in found:
            row["id"] = "fresh" if is_ulid(row["id"]) else row["id"]
        # repr keeps minus zero apart from zero.
        # Only upserts need to know what a row leaves out.
        bits = batch.unnamed if mode is Mode.MERGE else None
        unnamed = None if bits is None else bits.to_pylist()
        rows[batch.entity.name] = (repr(found), batch.records.tolist(), batch.generated, unnamed)
    gone = {
        found.entity.name: (found.ids.to_pylist(), found.records.tolist())
        for found in parsed.deletions
    }
    return {"count": parsed.count, "rows": rows, "gone": gone}


def same(fast: Parsed, exact: Parsed, mode: Mode) -> None:
    assert exact.violations == ()
    assert exact.lines is not None
    assert exact.lines.tolist() == list(range(1, exact.count + 1))
    assert content(fast, mode) == content(exact, mode)


@given(blocks(), st.sampled_from(list(Mode)))
@example(b'{"type": "Person", "data": {"slug": "", "age": {}, "id": ""}}\n', Mode.APPEND)
@settings(max_examples=examples(200))
@example(b'{"type": "Note"} null {"type": "Note"}\n', Mode.APPEND)
@example(b'{"type": "Note", "data": {"text": "a"}}{"type": "Note"}\n\n', Mode.APPEND)
@example(b'{"type": "Person", "data": {"slug": "a", "whole": -0}}\n', Mode.APPEND)
@example(b'{"edge": "Knows", "from": -0, "to": 1}\n', Mode.APPEND)
@example(b'{"type": "Person", "data": {"slug": "a", "whole": NaN}}\n', Mode.APPEND)
@example(b'{"type": "Person", "data": {"slug": "a", "vec": [1, NaN]}}\n', Mode.APPEND)
@example(b'{"type": "Person", "data": {"slug": "a", "nobody": null}}\n', Mode.APPEND)
@example(b'{"type": "Person", "data": {"slug": "a", "city": null}}\n', Mode.APPEND)
@example(b'{"delete": "Day", "id": "2020-01-01"}\n', Mode.MERGE)
@example(b'{"type": "Person", "data": {"slug": "a", "age": null, "\\u0062ig": null}}\n', Mode.MERGE)
@example(b'{"type": "Person", "data": {"slug": "\\u00fc \\"age\\": null"}}\n', Mode.MERGE)
@example(b'{"delete": "Pair", "id": "[\\"a\\", \\"1\\"]"}\n', Mode.MERGE)
def test_what_the_fast_way_accepts_means_the_same_as_read_exactly(data: bytes, mode: Mode) -> None:
    shapes = SHAPES[mode]
    fast = read_block(data, shapes)
    if fast is not None:
        same(fast, exactly(data, shapes), mode)


@st.composite
def right_records(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["Person", "Note", "Knows"]))
    if kind == "Knows":
        return {"edge": kind, "from": draw(texts), "to": draw(texts), "data": {}}
    if kind == "Note":
        return {"type": kind, "data": {"text": draw(texts)}}
    data = {"slug": draw(texts), "age": draw(st.integers(-9, 9)), "vec": [1, draw(st.floats(0, 1))]}
    return {"type": kind, "data": data}


@given(st.lists(right_records(), min_size=1, max_size=8))
def test_ordinary_records_go_the_fast_way(found: list[dict[str, Any]]) -> None:
    data = "".join(json.dumps(record) + "\n" for record in found).encode()
    fast = read_block(data, SHAPES[Mode.APPEND])
    assert fast is not None
    same(fast, exactly(data, SHAPES[Mode.APPEND]), Mode.APPEND)


@given(
    st.lists(st.tuples(texts, texts, dates), min_size=1, max_size=6),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.integers(0, 20),
    st.sampled_from(["", " ", "\t", "\\n", '"', '\\"', "}", "\x00", "\x7f", "é", "null", ","]),
)
def test_lines_that_differ_in_strings_alone_mean_the_same(
    found: list[tuple[str, str, str]], separators: tuple[str, str], at: int, strange: str
) -> None:
    lines = [
        json.dumps(
            {"edge": "Knows", "from": source, "to": target, "data": {"since": since}},
            ensure_ascii=False,
            separators=separators,
        )
        for source, target, since in found
    ]
    lines[-1] = lines[-1][: at + 20] + strange + lines[-1][at + 20 :]
    data = "".join(f"{line}\n" for line in lines).encode()
    fast = read_block(data, SHAPES[Mode.APPEND])
    if fast is not None:
        same(fast, exactly(data, SHAPES[Mode.APPEND]), Mode.APPEND)


@given(blocks(), st.lists(st.integers(0, 400), max_size=4))
def test_where_a_stream_is_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    decoder = Decoder()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    # Pieces end with a line, as blocks do.
    edges = [data.rfind(b"\n", 0, edge) + 1 if 0 < edge < len(data) else edge for edge in edges]
    found = []
    for begin, end in pairwise(edges):
        found += decoder.feed(data[begin:end])
    found += decoder.feed(b"", last=True)
    assert repr(found) == repr(Decoder().feed(data, last=True))


@pytest.mark.parametrize("depth", [10_000, 1_000_000])
def test_a_record_nested_deeply_is_no_danger(depth: int) -> None:
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        nested = opened * depth + b"1" + closed * depth
        for line in (
            b'{"type": "Note", "data": {"text": ' + nested + b"}}\n",
            b'{"data": {"text": ' + nested + b'}, "type": "Note"}\n',
        ):
            assert read_block(line, SHAPES[Mode.APPEND]) is None
