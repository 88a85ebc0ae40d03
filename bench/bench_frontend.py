"""From text to plan input: a query of 30 lines, a schema of 60 types, a cold start."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import Table, median_of, median_of_process
from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.canonical import digest
from omnigraph.catalog.source import print_catalog
from omnigraph.compiler import CompileCache, compile_source
from omnigraph.compiler.lower import lower_query
from omnigraph.ir.queries import ReadIR
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import print_queries
from omnigraph.language.lexer import tokenize
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.planner import PlannerStatistics, plan_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ir.queries import QueryIR

QUERY = """query busy_authors($since: DateTime, $topics: [String], $min_score: F64, $n: I64) {
    match {
        $p: Person { active: true }
        $p wrote $a
        $a: Article { status: "published" }
        $a.published_at >= $since
        $a $r:ratedBy $critic
        $r.score >= $min_score
        $a about $t
        $t within{1,2} $field
        $field.name in $topics
        $p employedBy $o
        $o.country = "CH" or $o.country = "AT" or not ($o.size < 50 and $o.size is not null)
        not { $p retracted $a }
        exists {
            $p <knows> $q
            $q.name starts_with "A"
        }
        count { $p wrote $other } > 3
        $a.language in ["de", "fr", "it"]
        search($a.body, "graph database")
    }
    return {
        $p.name as name
        $o.name as employer
        count(distinct $critic) as critics
        avg($r.score) as score
    }
    order { score desc, name }
    limit $n
    offset 0
}
"""

PEOPLE = """
interface Named { name: String }
node Person implements Named { slug: String @key
    active: Bool }
node Organization implements Named { slug: String @key
    country: String @index
    size: I32? }
node Topic implements Named { slug: String @key }
node Article { slug: String @key
    status: enum(draft, published, withdrawn)
    language: String
    body: String @index
    published_at: DateTime? }
edge Wrote: Person -> Article
edge Retracted: Person -> Article
edge RatedBy: Article -> Person { score: F64 }
edge About: Article -> Topic
edge Within: Topic -> Topic
edge EmployedBy: Person -> Organization
edge Knows: Person -> Person
"""


def run() -> Iterator[Table]:
    yield _query_table()
    yield _schema_table()
    yield _start_table()


def schema_of_60_types() -> str:
    """The eleven types that the query speaks of, and others of an ordinary size."""
    properties = "\n".join(f"    field_{index}: {kind}" for index, kind in enumerate(_KINDS))
    nodes = [f"node Thing{i} {{\n    slug: String @key\n{properties}\n}}" for i in range(25)]
    edges = [f"edge Link{i}: Thing{i} -> Thing{i + 1} {{ weight: F64? }}" for i in range(24)]
    return "\n".join([PEOPLE, *nodes, *edges])


_KINDS = ("String", "String? @index", "I64 @range(0..9)", "F64?", "Bool", "DateTime?", "[String]?")


def _query_table() -> Table:
    schema = Source(schema_of_60_types())
    catalog = build_catalog(parse_schema(schema), schema)
    source = Source(QUERY)
    document = parse_queries(source)
    cache = CompileCache()
    schema_digest = digest(catalog)
    python = inspect.getsource(Table)

    table = Table(f"a query of {len(QUERY.splitlines())} lines", "ast.parse of as much Python")
    table.add(table.baseline, median_of(lambda: ast.parse(python)))
    table.add("tokens", median_of(lambda: tokenize(source)))
    table.add("parse, with tokens", median_of(lambda: parse_queries(source)), aim=1e-3)
    table.add("typecheck and lower", median_of(lambda: lower_query(catalog, document.queries[0])))
    table.add("all of it", median_of(lambda: compile_source(catalog, QUERY)), aim=3e-3)
    facts = PlannerStatistics(catalog, dict.fromkeys(catalog.types, 100_000))
    planned = median_of(lambda: plan_read(_read(compile_source(catalog, QUERY)), facts))
    table.add("all of it, and the plan", planned, aim=2e-3)
    table.add("cached lookup", median_of(lambda: cache.compile(catalog, schema_digest, QUERY)))
    table.add("print", median_of(lambda: print_queries(document)))
    return table


def _read(compiled: QueryIR) -> ReadIR:
    assert isinstance(compiled, ReadIR)
    return compiled


def _schema_table() -> Table:
    source = Source(schema_of_60_types())
    document = parse_schema(source)
    catalog = build_catalog(document, source)
    count = len(catalog.nodes) + len(catalog.edges)
    table = Table(f"a schema of {count} types", "tokens")
    table.add("tokens", median_of(lambda: tokenize(source)))
    table.add("parse, with tokens", median_of(lambda: parse_schema(source)))
    table.add("build the catalog", median_of(lambda: build_catalog(document, source)))
    table.add("digest", median_of(lambda: digest(catalog)))
    table.add("print", median_of(lambda: print_catalog(catalog)))
    return table


def _start_table() -> Table:
    python = sys.executable
    command = str(Path(python).with_name("omnigraph"))
    table = Table("cold start", "python -c pass")
    table.add(table.baseline, median_of_process([python, "-c", "pass"]))
    table.add("omnigraph --version", median_of_process([command, "--version"]), aim=60e-3)
    compiler = [python, "-c", "import omnigraph.compiler"]
    table.add("import omnigraph.compiler", median_of_process(compiler))
    return table
