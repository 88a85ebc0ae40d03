"""The canonical form of a query file."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.language.gq.ast import Binding
from omnigraph.language.gq.formatter import format_queries
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import print_expr, print_queries
from omnigraph.language.source import NO_SPAN, Source
from omnigraph.testing.syntax import strip_spans

VALID = sorted((Path(__file__).parents[3] / "corpus" / "gq" / "valid").glob("*.gq"))


def printed(text: str) -> str:
    return print_queries(parse_queries(Source(text)))


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_printing_and_parsing_again_gives_the_same_tree(path: Path) -> None:
    document = parse_queries(Source(path.read_text(encoding="utf-8"), path.name))
    text = print_queries(document)
    assert strip_spans(parse_queries(Source(text))) == strip_spans(document)
    assert printed(text) == text


def test_a_read_is_laid_out_clause_by_clause() -> None:
    text = """
      query find($name: String,$n:I64?) @instruction("b") @description("a")
      { match { $p: Person{name:$name,vip:true}
      $p $k:<knows>{1,2} $q $q.age>-3 not{$q blocks $p} exists {$q owns $c $c.price>=1.50}
      ($q in $name) } return distinct{$q.name as name,count(distinct $c) count(*)as n}
      offset 5 limit $n order{name desc,$q.age} }
    """.replace("$c) count", "$c)\ncount")
    assert printed(text) == (
        'query find($name: String, $n: I64?) @description("a") @instruction("b") {\n'
        "    match {\n"
        "        $p: Person { name: $name, vip: true }\n"
        "        $p $k:<knows>{1,2} $q\n"
        "        $q.age > -3\n"
        "        not { $q blocks $p }\n"
        "        exists {\n"
        "            $q owns $c\n"
        "            $c.price >= 1.5\n"
        "        }\n"
        "        ($q in $name)\n"
        "    }\n"
        "    return distinct {\n"
        "        $q.name as name\n"
        "        count(distinct $c)\n"
        "        count(*) as n\n"
        "    }\n"
        "    order { name desc, $q.age }\n"
        "    limit $n\n"
        "    offset 5\n"
        "}\n"
    )


def test_mutations_are_laid_out_statement_by_statement() -> None:
    text = """query m() { insert A{} insert B{x:null,on:date("2024-02-29")}
    update C set{at:datetime("2024-02-29T12:00:00.500Z")} where a=1 and(b=2 or not(c=3)) }
    query d() { delete A where a in [] }"""
    assert printed(text) == (
        "query m() {\n"
        "    insert A {}\n"
        '    insert B { x: null, on: date("2024-02-29") }\n'
        '    update C set { at: datetime("2024-02-29T12:00:00.5Z") } '
        "where a = 1 and (b = 2 or not (c = 3))\n"
        "}\n"
        "\n"
        "query d() {\n"
        "    delete A where a in []\n"
        "}\n"
    )


def test_what_does_not_fit_on_a_line_is_broken_at_its_separators() -> None:
    names = [f"a_rather_long_name_{letter}" for letter in "abcde"]
    params = ", ".join(f"${name}: String" for name in names)
    values = ", ".join(f"{name}: ${name}" for name in names)
    condition = " or ".join(f"{name} = ${name}" for name in names)
    statement = f"update A set {{ {values} }} where {condition}"  # noqa: S608 - not SQL
    text = f"query q({params}) {{ {statement} }}"
    lines = printed(text).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == "query q("
    assert lines[1] == "    $a_rather_long_name_a: String,"
    assert "    update A set {" in lines
    assert "        a_rather_long_name_e: $a_rather_long_name_e" in lines
    assert lines[-2] == "        or a_rather_long_name_e = $a_rather_long_name_e"


def test_options_of_functions_are_named() -> None:
    text = 'query q() { match { fuzzy($x.a, "b", 1) } return { $x } }'
    assert 'fuzzy($x.a, "b", edits=1)' in printed(text)


def test_one_expression_is_printed_alone() -> None:
    (query,) = parse_queries(Source("query q() { delete A where a = 1 or b = 2 }")).queries
    assert print_expr(query.body.statements[0].where) == "a = 1 or b = 2"  # type: ignore[union-attr]


def test_a_clause_is_not_an_expression() -> None:
    binding = Binding("x", "X", (), NO_SPAN, NO_SPAN, NO_SPAN)
    with pytest.raises(TypeError):
        print_expr(binding)  # type: ignore[arg-type]


class TestComments:
    @pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
    def test_formatting_keeps_the_tree_and_settles(self, path: Path) -> None:
        source = Source(path.read_text(encoding="utf-8"))
        text = format_queries(source)
        assert strip_spans(parse_queries(Source(text))) == strip_spans(parse_queries(source))
        assert format_queries(Source(text)) == text

    def test_comments_stay_with_what_they_speak_of(self) -> None:
        text = """// The licence.

// About q.
query q( // the head
 $a: String, // a
 // b is second
 $b: I64) {
  /* the first
     statement */
  insert Person { // people
     name: $a, /* mid */ age: $b
     // last of insert
  }  // after insert

  // end of body
}
// end


// really
"""
        formatted = """// The licence.

// About q.
query q( // the head
    $a: String, // a
    // b is second
    $b: I64
) {
    /* the first
    statement */
    insert Person { // people
        name: $a, /* mid */
        age: $b
        // last of insert
    } // after insert

    // end of body
}
// end

// really
"""
        assert format_queries(Source(text)) == formatted
        assert format_queries(Source(formatted)) == formatted

    def test_comments_in_blocks(self) -> None:
        text = """query q() {
    // what
    match { // open
        $x: X // one
        // between
        exists { // deep
            $x knows $y }
        // last
    }
    // columns
    return {
        $x.a // a
        // b
        $x.b
    }
    order { $x.a, // first
        $x.b }
}
"""
        formatted = """query q() {
    // what
    match { // open
        $x: X // one
        // between
        exists { // deep
            $x knows $y
        }
        // last
    }
    return {
        // columns
        $x.a // a
        // b
        $x.b
    }
    order {
        $x.a, // first
        $x.b
    }
}
"""
        assert format_queries(Source(text)) == formatted

    def test_a_comment_of_several_lines_does_not_leak_out_of_the_one_before_it(self) -> None:
        text = "query q() { match { $p // one\n : /* two\n  three */ P } return { $p } }"
        formatted = format_queries(Source(text))
        assert "        $p: P // one /* two three */\n" in formatted
        assert format_queries(Source(formatted)) == formatted

    def test_what_is_formatted_stays_as_it_is_wherever_comments_stood(self) -> None:
        words = "query q ( $a : I64 ) { match { $p : P { x : $a } $p.y = 1 or $p.z = 2 } return "
        words += "{ $p.x as x , count(*) as n } order { n desc , x } limit 5 }"
        tokens = words.split()
        for place in range(len(tokens)):
            text = " ".join([*tokens[:place], "// here\n", *tokens[place:]])
            formatted = format_queries(Source(text))
            assert formatted.count("// here") == 1
            assert format_queries(Source(formatted)) == formatted

    def test_a_file_of_comments_is_left_alone(self) -> None:
        assert (
            format_queries(Source("// nothing\n\n/* at all */")) == "// nothing\n\n/* at all */\n"
        )
