"""Formatting a schema file: the same schema, every comment, one layout."""

from __future__ import annotations

import re
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import SyntaxFailure
from omnigraph.language.pg.formatter import format_schema
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.printer import print_schema
from omnigraph.language.source import Source


def formatted(text: str) -> str:
    return format_schema(Source(text))


UNTIDY = """\
// The head of the file.

/* a licence,
   in lines */
node  Person{   // people
  name: String   @key // their name
  // when
  born: Date?


  age: I32? /* years */ @range(0..150)
  @index(name) // quick
  // last words
}
edge Knows: Person->Person
edge Likes: Person->Person  // like

// apart
edge Wrote: Person -> Person { @key(src,dst)
 since: I32 }
interface Named { n: String }
node Empty {
  // nothing here
}
// the end
"""

TIDY = """\
// The head of the file.

/* a licence,
in lines */
node Person { // people
    name: String @key // their name
    // when
    born: Date?

    age: I32? @range(0..150) /* years */

    @index(name) // quick
    // last words
}

edge Knows: Person -> Person
edge Likes: Person -> Person // like

// apart
edge Wrote: Person -> Person {
    since: I32

    @key(src, dst)
}

interface Named {
    n: String
}

node Empty {
    // nothing here
}
// the end
"""


def test_declarations_keep_their_order_and_comments_their_place() -> None:
    assert formatted(UNTIDY) == TIDY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n\n", ""),
        ("// only", "// only\n"),
        ("node A { }", "node A {}\n"),
        ("// x\n\nnode A {}", "// x\n\nnode A {}\n"),
        ("node A{}node B{}", "node A {}\n\nnode B {}\n"),
        ("node A {}\n\n\n\n// d\n\n\n// e", "node A {}\n\n// d\n\n// e\n"),
        ("node A {\n\n  // in\n\n  // on\n\n}", "node A {\n    // in\n\n    // on\n}\n"),
        ("node A {\n\n  a: I32\n\n}", "node A {\n    a: I32\n}\n"),
        ("node A {\r\n  a: I32 // b\r\n}\r\n", "node A {\n    a: I32 // b\n}\n"),
    ],
)
def test_small_files(text: str, expected: str) -> None:
    assert formatted(text) == expected


def test_what_does_not_parse_is_not_formatted() -> None:
    with pytest.raises(SyntaxFailure):
        formatted("node {")


WORDS = re.findall(
    r"\S+", "node A { a : I32 ? @index b : String @key } edge E : A -> A { @key(src) s : Date }"
)
comments = st.sampled_from(
    ["", "", "// c{}\n", "/* c{} */", "\n// c{}\n", "\n\n", "\n/* c{}\n d */\n"]
)


@given(st.lists(comments, min_size=20, max_size=20))
def test_comments_anywhere_survive_and_formatting_twice_changes_nothing(gaps: list[str]) -> None:
    filled = [gap.format(number) for number, gap in enumerate(gaps)]
    text = " ".join(part for pair in zip_longest(WORDS, filled, fillvalue="") for part in pair)
    once = formatted(text)
    assert formatted(once) == once
    assert sorted(re.findall(r"c\d+", once)) == sorted(re.findall(r"c\d+", text))
    assert print_schema(parse_schema(Source(once))) == print_schema(parse_schema(Source(text)))
