"""JSON values out of pieces of text, with the lines on which they begin."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.loading.json_decoder import Decoder, JsonProblem


def decoded(*pieces: bytes) -> list[tuple[Any, int]]:
    decoder = Decoder()
    found = []
    for at, piece in enumerate(pieces):
        found += decoder.feed(piece, last=at == len(pieces) - 1)
    return [
        (f"{item.value.rule}: {item.value.message}", item.line)
        if isinstance(item.value, JsonProblem)
        else (item.value, item.line)
        for item in found
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"", []),
        (b" \n\t\r\n", []),
        (b'{"a": 1}\n{"b": 2}\n', [({"a": 1}, 1), ({"b": 2}, 2)]),
        (b'{"a": 1}{"b": 2} 3', [({"a": 1}, 1), ({"b": 2}, 1), (3, 1)]),
        (b'{\n"a":\n1}\n\n{"b": 2}', [({"a": 1}, 1), ({"b": 2}, 5)]),
        (b"[]", []),
        (b' [\n{"a": 1},\n2]\n', [({"a": 1}, 2), (2, 3)]),
        (b"[[1], [2]]", [([1], 1), ([2], 1)]),
        (b'{"a": 1.5e3, "b": [true, null]}', [({"a": 1500.0, "b": [True, None]}, 1)]),
        ('"é😀"'.encode(), [("é😀", 1)]),
    ],
)
def test_values_are_read_however_they_are_laid_out(text: bytes, values: list[Any]) -> None:
    assert decoded(text) == values
    for cut in range(len(text)):
        # An array may be cut anywhere, lines between lines.
        if text.lstrip().startswith(b"[") or text[:cut].endswith(b"\n"):
            assert decoded(text[:cut], text[cut:]) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b'{"a": 1,}\n{"b": 2}\n', [("json: expecting property name", 1), ({"b": 2}, 2)]),
        (b'{"a": \n{"b": 2}\n', [("json: the record is not complete", 1), ({"b": 2}, 2)]),
        (b'{"a": "b\n{"b": 2}\n', [("json: invalid control character", 1), ({"b": 2}, 2)]),
        (b'{"a": NaN}\n{"b": 2}\n', [("json: NaN is not a JSON number", 1), ({"b": 2}, 2)]),
        (b'{"a": -Infinity}', [("json: -Infinity is not", 1)]),
        (b'{"a": 1, "a": 2}', [("json: duplicate name 'a'", 1)]),
        (b'{"x": {"a": 1, "a": 2}}', [("json: duplicate name 'a'", 1)]),
        (b'{"a": "\xff"}\n{"b": 2}\n', [("encoding: byte 0xFF is not UTF-8", 1), ({"b": 2}, 2)]),
        ('{"a": 1}\n'.encode("utf-16"), [("encoding: byte 0xFF is not UTF-8", 1)]),
        (b'{"a": 1} x y\n{"b": 2}', [({"a": 1}, 1), ("json: expecting value", 1), ({"b": 2}, 2)]),
        (b'garbage\nmore\n{"b": 2}\n', [("json: expecting value", 1), ({"b": 2}, 3)]),
        (b'{\n  "a": x\n}\n{"b": 2}', [("json: expecting value", 1), ({"b": 2}, 4)]),
        (b'{"a": 1', [("json: the record is not complete", 1)]),
        (b'{"a": "', [("json: unterminated string", 1)]),
        (b"[1, 2", [(1, 1), (2, 1), ("json: the array is not closed", 1)]),
        (b"[1,]", [(1, 1), ("json: expecting value", 1)]),
        (b"[1 2]", [(1, 1), ("json: a comma is missing before '2'", 1)]),
        (b"[1] 2", [(1, 1), ("json: unexpected '2' after the end of the array", 1)]),
        (b'{"a": ' + b"9" * 5_000 + b"}", [("json: a number has 5000 digits", 1)]),
        (b"[" * 20_000, [("json: the record is nested too deeply", 1)]),
        (b'{"a":' * 20_000, [("json: the record is nested too deeply", 1)]),
    ],
)
def test_what_is_not_json_is_told_and_reading_goes_on(text: bytes, values: list[Any]) -> None:
    found = decoded(text)
    assert len(found) == len(values)
    for (actual, line), (expected, expected_line) in zip(found, values, strict=True):
        assert line == expected_line
        if isinstance(expected, str):
            assert actual.startswith(expected)
        else:
            assert actual == expected


def test_what_is_broken_reaches_into_the_next_piece() -> None:
    pieces = b'{"a":\nx\n', b'  "b"\n}\n', b'{"c": 3}\n'
    assert [line for _, line in decoded(*pieces)] == [1, 5]


def test_minus_zero_keeps_its_sign() -> None:
    assert repr(decoded(b"[-0, 0, -0.0]")) == "[(-0.0, 1), (0, 1), (-0.0, 1)]"


def test_a_decoder_knows_whether_a_value_reaches_over_the_end() -> None:
    decoder = Decoder()
    assert decoder.between_lines
    decoder.feed(b'{"a": 1}\n')
    assert decoder.between_lines
    decoder.feed(b'{"a":\n', line=7)
    assert (decoder.between_lines, decoder.line) == (False, 7)
    decoder.feed(b"1}\n")
    assert decoder.between_lines
    decoder.feed(b"broken\n")
    assert not decoder.between_lines
