"""Lint: what is suspicious in a file of queries, and how it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler.lint import LintReport, lint
from omnigraph.compiler.lint_rules import CHECKS, LINT_RULES
from omnigraph.compiler.lint_rules.wide_traversal import WIDE_HOPS
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

SCHEMA = """
node Reader {
    card: String @key
    name: String @index
    nickname: String?
    age: I32?
    tags: [String]?
    portrait: Vector(4)? @embed("name")
}
node Book {
    isbn: String @key
    title: String
    shelf: String @index
    genre: String?
    cover: Blob?
    @unique(title, shelf)
}
edge Borrowed: Reader -> Book {
    due: Date
    note: String?
}
edge Knows: Reader -> Reader
"""


@pytest.fixture(scope="module")
def library() -> Catalog:
    source = Source(SCHEMA, "library.pg")
    return build_catalog(parse_schema(source), source)


LARGE = {"Reader": 2_000_000, "Borrowed": 9_000_000}


def check(library: Catalog, text: str, large: dict[str, int] | None = None) -> LintReport:
    return lint(library, Source(text, "queries.gq"), large_types=large)


def codes(report: LintReport) -> list[str]:
    return [found.diagnostic.code for found in report.findings]


def reading(match: str, params: str = "") -> str:
    return f"query q({params}) {{ match {{ {match} }} return {{ $r.name }} }}"


class TestReports:
    def test_a_clean_file_is_ok(self, library: Catalog) -> None:
        report = check(library, reading("$r: Reader { card: $card }", "$card: String"))
        assert (report.status, report.findings) == ("ok", ())
        assert report.to_text() == "queries.gq: 1 query, 0 errors, 0 warnings"

    def test_an_empty_file_is_ok(self, library: Catalog) -> None:
        assert check(library, "").to_json() == {
            "status": "ok",
            "query_path": "queries.gq",
            "queries_processed": 0,
            "errors": 0,
            "warnings": 0,
            "infos": 0,
            "results": [],
            "findings": [],
        }

    def test_a_file_that_does_not_parse_is_an_error(self, library: Catalog) -> None:
        report = check(library, "query q() { delete Reader }\nquery r() { match { } return { 1 } }")
        assert report.status == "error"
        assert codes(report) == ["Q000", "Q000"]
        body = report.to_json()
        assert (body["queries_processed"], body["errors"], body["results"]) == (0, 2, [])

    def test_a_query_that_does_not_parse_hides_no_type_error_of_another(
        self, library: Catalog
    ) -> None:
        text = (
            "query broken() { match { $r: Reader } return { } }\n"
            + "query bad($unused: String) { match { $r: Raeder } return { $r.name } }"
        )
        report = check(library, text)
        assert [found.diagnostic.severity.value for found in report.findings] == ["error"] * 2
        assert [(result.name, result.status) for result in report.results] == [("bad", "error")]

    def test_type_errors_are_findings_and_stand_with_their_query(self, library: Catalog) -> None:
        text = (
            "query good($c: String) { match { $r: Reader { card: $c } } return { $r.name } }\n"
            + ("query bad() { match { $r: Raeder } return { $r.name } }")
        )
        report = check(library, text)
        good, bad = report.to_json()["results"]
        assert good["status"] == "ok"
        assert "operation" in good
        assert (bad["name"], bad["kind"], bad["status"]) == ("bad", "read", "error")
        assert "operation" not in bad
        assert bad["error"].startswith("T1: ")
        (found,) = report.to_json()["findings"]
        assert (found["line"], found["column"], found["query_names"]) == (2, 27, ["bad"])
        assert "did you mean `Reader`?" in report.to_text()

    def test_the_report_is_json(self, library: Catalog) -> None:
        report = check(library, reading("$r: Reader { age: 3 }", "$unused: I64"), LARGE)
        assert json.loads(json.dumps(report.to_json())) == report.to_json()

    def test_findings_follow_the_text(self, library: Catalog) -> None:
        report = check(library, reading("$r knows{1,64} $f $f: Raeder", "$unused: I64"))
        assert codes(report) == ["L203", "L205", "T1"]

    def test_every_rule_is_registered_once(self) -> None:
        assert len(CHECKS) == len(LINT_RULES) == len({rule.code for rule in LINT_RULES})


class TestOperations:
    def operation(self, library: Catalog, text: str) -> Any:
        return check(library, text).to_json()["results"][0]["operation"]

    def test_a_read_names_its_columns_and_what_it_reads(self, library: Catalog) -> None:
        text = """query q() {
            match { $r borrowed $b  not { $r knows $_ } }
            return { $r  $r.age as age  $r.tags  $r.portrait }
        }""".replace("  $r", "\n$r")
        assert self.operation(library, text) == {
            "result": [
                {"name": "r", "kind": "object", "nullable": False},
                {"name": "age", "kind": "int", "nullable": True},
                {"name": "r.tags", "kind": "list", "nullable": True, "item_kind": "string"},
                {"name": "r.portrait", "kind": "vector", "nullable": True, "vector_dim": 4},
            ],
            "reads": [
                {"kind": "node", "type_name": "Book"},
                {"kind": "node", "type_name": "Reader"},
                {"kind": "edge", "type_name": "Borrowed"},
                {"kind": "edge", "type_name": "Knows"},
            ],
            "writes": [],
        }

    def test_a_delete_cascades_to_edges(self, library: Catalog) -> None:
        text = "query q($c: String) { delete Reader where card = $c }"
        operation = self.operation(library, text)
        assert operation["result"] == []
        assert operation["writes"] == [
            {"kind": "node", "type_name": "Reader"},
            {"kind": "edge", "type_name": "Borrowed"},
            {"kind": "edge", "type_name": "Knows"},
        ]


class TestUnsetProperties:
    def test_an_optional_property_that_no_update_sets_is_named(self, library: Catalog) -> None:
        text = """query rename($c: String, $n: String) {
    update Reader set { name: $n, nickname: null } where card = $c
}
query age($c: String, $a: I32) { update Reader set { age: $a } where card = $c }
"""
        report = check(library, text)
        (found,) = report.to_json()["findings"]
        assert found == {
            "severity": "warning",
            "code": "L201",
            "message": "`Reader.tags` is optional, and no update query sets it",
            "file": "queries.gq",
            "line": 2,
            "column": 12,
            "remedy": "add it to an update of `Reader`, or drop it from the schema",
            "type_name": "Reader",
            "property": "tags",
            "query_names": ["rename", "age"],
        }
        assert report.status == "ok"
        assert all("warnings" not in result for result in report.to_json()["results"])

    def test_types_without_updates_are_left_alone(self, library: Catalog) -> None:
        text = "query add($c: String) { insert Reader { card: $c, name: $c } }"
        assert codes(check(library, text)) == []

    def test_updates_of_edges_count_too(self, library: Catalog) -> None:
        text = (
            "query move($d: Date, $c: String) { update Borrowed set { due: $d } where from = $c }"
        )
        (found,) = check(library, text).findings
        assert (found.type_name, found.prop) == ("Borrowed", "note")

    def test_broken_updates_do_not_count(self, library: Catalog) -> None:
        text = "query bad($c: String) { update Reader set { agee: 3 } where card = $c }"
        assert "L201" not in codes(check(library, text))


class TestParameters:
    def test_a_mutation_without_parameters_is_fixed(self, library: Catalog) -> None:
        report = check(
            library, 'query seed() { insert Book { isbn: "1", title: "t", shelf: "s" } }'
        )
        assert codes(report) == ["L202"]
        (result,) = report.to_json()["results"]
        assert result["warnings"] == [
            "L202: the mutation `seed` has no parameters: what it writes is fixed"
        ]

    def test_an_unused_parameter_is_named(self, library: Catalog) -> None:
        text = (
            "query q($c: String, $n: I64) { match { $r: Reader { card: $c } } return { $r.name } }"
        )
        report = check(library, text)
        assert codes(report) == ["L203"]
        assert "queries.gq:1:21: warning [L203] the parameter `$n` of `q` is never used" in (
            report.to_text()
        )

    @pytest.mark.parametrize(
        "text",
        [
            "query q($p: I64) { match { $r: Reader } return { $r.name } limit $p }",
            "query q($p: I64) { match { $r: Reader } return { $r.name } limit 3 offset $p }",
            "query q($p: I32) { match { $r: Reader  not ($r.age in [1, $p]) } return { $r.name } }",
            "query q($p: I32) { match { exists { $r knows $f  $f.age > $p } $r: Reader } "
            "return { $r.name } }",
            "query q($p: String) { delete Reader where card = $p }",
            "query q($p: String) { match { $r: Reader } return { $r.name, $p as given } }",
        ],
    )
    def test_a_parameter_is_used_wherever_it_stands(self, library: Catalog, text: str) -> None:
        assert codes(check(library, text)) == []


class TestUnindexedFilters:
    @pytest.mark.parametrize(
        "match",
        [
            "$r: Reader { age: 3 }",
            "$r: Reader  $r.age >= 3",
            "$r: Reader  3 < $r.age",
            "$r: Reader  $r.age in [1, 2]",
            '$r: Reader  $r.nickname starts_with "a"',
            '$r: Reader  $r.nickname contains "a"',
            '$r: Reader  $r.tags contains "a"',
            '$r: Reader  search($r.nickname, "a")',
            "$r: Reader  $r.age = 1 and $r.age != 2",
            '$r: Reader  $r.age = 1 or $r.name = "a"',
            "$r: Reader  not ($r.age = 1)",
            "$r borrowed $b  $r.age = 1",
            "$r: Reader  $f: Reader { age: 3 }",
            "$r: Reader  $f: Reader  $r.name = $f.name  $r.age = 1",
            '$r $l:borrowed $b  $l.due = date("2026-01-01")',
        ],
    )
    def test_a_pattern_that_starts_nowhere_is_reported(self, library: Catalog, match: str) -> None:
        assert codes(check(library, reading(match), LARGE)) == ["L204"]
        assert codes(check(library, reading(match))) == []

    @pytest.mark.parametrize(
        "match",
        [
            "$r: Reader",
            '$r: Reader { card: "1", age: 3 }',
            '$r: Reader { name: "n" }  $r.age > 3',
            '$r: Reader  $r.id = "1"  $r.age > 3',
            '$r: Reader { card: "1" }  $r knows $f  $f.age > 3',
            '$r: Reader { card: "1" }  $r knows $f  $f $l:borrowed $b  $l.note = "x"',
            "$r: Reader  $r.age != 3",
            "$r: Reader  $r.age is null",
            '$r: Reader { name: "n" }  exists { $r knows $f  $f.age > 3 }',
            '$r: Reader  $b: Book { genre: "crime" }',
            '$r: Reader { name: "n" }  $b: Book { title: "t" }',
        ],
    )
    def test_a_pattern_that_starts_at_an_index_is_not(self, library: Catalog, match: str) -> None:
        assert codes(check(library, reading(match), LARGE)) == []

    def test_blocks_of_their_own_are_looked_into(self, library: Catalog) -> None:
        block = '$r: Reader { name: "n" }  count { $r knows $f  $g: Reader { age: 3 } } > 1'
        assert codes(check(library, reading(block), LARGE)) == ["L204"]
        block = (
            '$r: Reader { name: "n" }  $r.card = "1" or not (exists { $r knows $f  $f.age = 3 })'
        )
        assert codes(check(library, reading(block), LARGE)) == []

    def test_the_filter_and_its_cost_are_shown(self, library: Catalog) -> None:
        report = check(library, reading("$r: Reader  $r.age = 3 or $r.age = 4"), LARGE)
        assert report.to_text() == (
            "queries.gq:1:33: warning [L204] `Reader.age` has no index, so this filter reads all "
            "2,000,000 entities of `Reader`\n"
            "    query q() { match { $r: Reader  $r.age = 3 or $r.age = 4 } return { $r.name } }\n"
            "                                    ^^^^^^\n"
            "  help: declare `@index(age)` on `Reader`, or start at an indexed property\n"
            "queries.gq: 1 query, 0 errors, 1 warning"
        )

    def test_no_index_is_asked_for_where_none_can_be(self, library: Catalog) -> None:
        text = reading('$r: Reader  $r.tags contains "x"')
        (found,) = check(library, text, LARGE).to_json()["findings"]
        assert found["remedy"] == "lists have no index: start at an indexed property"

    def test_inline_filters_are_pointed_at(self, library: Catalog) -> None:
        (found,) = check(library, reading("$r: Reader { age: 3 }"), LARGE).to_json()["findings"]
        assert (found["column"], found["type_name"], found["property"]) == (34, "Reader", "age")

    def test_mutations_filter_too(self, library: Catalog) -> None:
        text = """query q($a: I32, $c: String) {
    delete Reader where age = $a and nickname is null
    delete Reader where card = $c and age = $a
    delete Borrowed where note = "x"
}"""
        findings = check(library, text, LARGE).to_json()["findings"]
        assert [(found["code"], found["line"], found["property"]) for found in findings] == [
            ("L204", 2, "age"),
            ("L204", 4, "note"),
        ]

    def test_updates_filter_too(self, library: Catalog) -> None:
        text = 'query q($a: I32) { update Reader set { name: "x" } where age = $a or age is null }'
        assert "L204" in codes(check(library, text, LARGE))

    def test_inserts_do_not_filter(self, library: Catalog) -> None:
        text = "query q($c: String) { insert Reader { card: $c, name: $c } }"
        assert codes(check(library, text, LARGE)) == []


class TestWideTraversals:
    def test_a_bound_that_does_not_bound_is_reported(self, library: Catalog) -> None:
        text = reading(f"$r knows{{1,{WIDE_HOPS}}} $f")
        report = check(library, text)
        assert codes(report) == ["L205"]
        assert report.to_json()["findings"][0]["column"] == 29

    def test_near_ones_are_not(self, library: Catalog) -> None:
        assert codes(check(library, reading(f"$r knows{{1,{WIDE_HOPS - 1}}} $f"))) == []

    def test_open_ones_are_errors_already(self, library: Catalog) -> None:
        assert codes(check(library, reading("$r knows{1,} $f"))) == ["T15"]


class TestShortestDistances:
    def test_a_minimum_above_one_is_reported_at_its_bounds(self, library: Catalog) -> None:
        report = check(library, reading("$r knows{2,3} $f"))
        assert codes(report) == ["L206"]
        (found,) = report.to_json()["findings"]
        assert (found["severity"], found["column"]) == ("warning", 29)
        assert "shortest distance" in found["message"]
        assert "{1,3}" in found["remedy"]

    @pytest.mark.parametrize("bounds", ["", "{1,1}", "{1,4}"])
    def test_a_minimum_of_one_is_not(self, library: Catalog, bounds: str) -> None:
        assert codes(check(library, reading(f"$r knows{bounds} $f"))) == []

    def test_it_is_found_inside_blocks_and_undirected(self, library: Catalog) -> None:
        text = reading("$r: Reader { card: $c }  not { $r <knows>{2,2} $f }", "$c: String")
        assert codes(check(library, text)) == ["L206"]

    def test_an_edge_between_two_types_has_no_second_hop(self, library: Catalog) -> None:
        (found,) = check(library, reading("$r borrowed{2,2} $b")).findings
        assert found.diagnostic.message.startswith("nothing is 2 hops away along `Borrowed`")


class TestReversedTraversals:
    def test_a_traversal_against_its_declaration_is_mentioned(self, library: Catalog) -> None:
        report = check(library, reading("$b: Book  $b borrowed $r"))
        assert (codes(report), report.status) == (["L207"], "ok")
        body = report.to_json()
        assert (body["infos"], body["warnings"]) == (1, 0)
        (found,) = body["findings"]
        assert (found["severity"], found["column"]) == ("info", 34)
        assert "from `$r` to `$b`" in found["message"]
        assert found["remedy"] == "write `$r borrowed $b`"
        assert report.to_text().endswith("0 errors, 0 warnings, 1 remark")

    def test_the_remedy_is_the_same_query_without_the_remark(self, library: Catalog) -> None:
        written = check(library, reading("$b: Book  $b $w:borrowed $r"))
        (found,) = written.findings
        remedy = found.diagnostic.remedy.removeprefix("write ").strip("`")
        rewritten = check(library, reading(f"$b: Book  {remedy}"))
        assert codes(rewritten) == []

    def test_it_is_found_inside_blocks(self, library: Catalog) -> None:
        text = reading("$r: Reader { card: $c }  not { $b: Book  $b borrowed $r }", "$c: String")
        assert codes(check(library, text)) == ["L207"]

    @pytest.mark.parametrize("line", ["$f knows $r", "$f <knows> $r", "$r borrowed $b"])
    def test_a_traversal_as_declared_is_not(self, library: Catalog, line: str) -> None:
        assert codes(check(library, reading(f"$r: Reader  {line}"))) == []
