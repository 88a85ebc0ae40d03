"""Which indexes a schema declares, what they need, and the commit that builds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.commits import WriterKind
from omnigraph.api.indexes import IndexAction
from omnigraph.errors import NotFound
from omnigraph.graph.open import init_graph
from omnigraph.maintenance.index_plan import declared_indexes, plan_step
from omnigraph.maintenance.indexes import MAINTENANCE, ensure_indices, list_indexes
from omnigraph.ports.indexes import IndexInfo, IndexKind, IndexSegment
from omnigraph.ports.tables import Fragment
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.maintenance.index_plan import DeclaredIndex, IndexStep

SCHEMA = """
node Doc {
    slug: String @key
    isbn: String? @unique
    body: String? @index
    kind: enum(book, paper) @index
    read: Bool? @index
    pages: I64? @index
    published: Date? @index
    vec: Vector(4)? @index
    plain: String?
}
edge Cites: Doc -> Doc {
    note: String? @index
}
"""
ADD = """query add($s: String, $b: String) {
    insert Doc { slug: $s, body: $b, kind: "book" }
}"""


def declared(name: str) -> list[tuple[str, IndexKind]]:
    entity = catalog_of(SCHEMA).entity(name)
    assert entity is not None
    return [(each.prop.name, each.spec.kind) for each in declared_indexes(entity)]


def test_a_node_type_declares_an_index_per_use_of_its_properties() -> None:
    order, words = IndexKind.BTREE, IndexKind.INVERTED
    assert declared("Doc") == [
        ("id", order),
        ("slug", order),
        ("isbn", order),
        ("body", order),
        ("body", words),
        ("kind", order),
        ("read", IndexKind.BITMAP),
        ("pages", order),
        ("published", order),
        ("vec", IndexKind.IVF),
    ]


def test_an_edge_type_declares_its_endpoints() -> None:
    assert [name for name, _ in declared("Cites")][:3] == ["id", "src", "dst"]


# --- plans ---


def body_words() -> DeclaredIndex:
    [doc] = catalog_of(SCHEMA).nodes
    return next(each for each in declared_indexes(doc) if each.spec.kind is IndexKind.INVERTED)


def planned(parts: list[int], covered: int | None, *, force: bool = False) -> IndexStep:
    """The step for a table of such parts, of which the first ones are covered."""
    rows = [Fragment(f"p{place}", size, size) for place, size in enumerate(parts)]
    index = None
    if covered is not None:
        index = IndexInfo(
            name="body.words",
            type="Inverted",
            spec=body_words().spec,
            segments=(IndexSegment("s", tuple(range(covered))),),
            uncovered=tuple(range(covered, len(parts))),
            covered_rows=sum(parts[:covered]),
            uncovered_rows=sum(parts[covered:]),
        )
    return plan_step(body_words(), index, rows, force=force)


@pytest.mark.parametrize(
    ("parts", "covered", "force", "action", "places"),
    [
        ([], None, True, IndexAction.SKIP, ()),
        ([10], None, False, IndexAction.SKIP, ()),
        ([10], None, True, IndexAction.BUILD, (0,)),
        ([10_000, 0, 5], None, False, IndexAction.BUILD, (0, 2)),
        ([10_000], 1, False, IndexAction.SKIP, ()),
        ([10_000, 5], 1, False, IndexAction.SKIP, ()),
        ([10_000, 5], 1, True, IndexAction.EXTEND, (1,)),
        ([10_000, 5_000], 1, False, IndexAction.EXTEND, (1,)),
        ([100_000, *[5] * 20], 1, False, IndexAction.EXTEND, tuple(range(1, 21))),
        ([10_000, 50_000], 1, False, IndexAction.REBUILD, (0, 1)),
        ([10_000, 0], 1, True, IndexAction.SKIP, ()),
    ],
)
def test_an_index_is_built_extended_or_left_alone(
    parts: list[int], covered: int | None, force: bool, action: IndexAction, places: tuple[int, ...]
) -> None:
    step = planned(parts, covered, force=force)
    assert (step.action, step.parts) == (action, places)
    assert step.reason


# --- commits ---


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.mutate(ADD, {"s": "a", "b": "quick fox"})
    graph.mutate(ADD, {"s": "b", "b": "lazy dog"})
    return graph


def test_all_indexes_are_one_commit_of_maintenance(graph: EmbeddedGraph) -> None:
    before = graph.snapshot()
    done = graph.ensure_indices(force=True)
    assert done.commit is not None
    assert (done.commit.kind, done.commit.actor) == (WriterKind.MAINTENANCE, MAINTENANCE)
    assert done.commit.parent is not None
    assert done.commit.parent.id == before["graph_commit_id"]
    built = {
        (each.property, each.kind) for each in done.outcomes if each.action is IndexAction.BUILD
    }
    assert ("body", IndexKind.INVERTED) in built
    covered = {each.property: each.covered_rows for each in graph.indexes() if each.lance_type}
    assert set(covered.values()) == {2}


def test_there_is_no_commit_when_there_is_nothing_to_do(graph: EmbeddedGraph) -> None:
    assert graph.ensure_indices().commit is None, "so few rows are not worth an index"
    graph.ensure_indices(force=True)
    again = graph.ensure_indices(force=True)
    assert again.commit is None
    assert {each.action for each in again.outcomes} == {IndexAction.SKIP}


def test_a_vector_index_waits_for_a_vector(graph: EmbeddedGraph) -> None:
    [vector] = [
        each for each in graph.ensure_indices(force=True).outcomes if each.kind is IndexKind.IVF
    ]
    assert (vector.action, vector.reason) == (
        IndexAction.SKIP,
        "there is no vector with a direction",
    )


def test_new_rows_are_covered_by_the_next_run(graph: EmbeddedGraph) -> None:
    graph.ensure_indices(force=True)
    graph.mutate(ADD, {"s": "c", "b": "new fox"})
    words = {each.kind: each for each in graph.indexes() if each.property == "body"}
    assert words[IndexKind.INVERTED].uncovered_rows > 0
    done = graph.ensure_indices(force=True)
    assert done.commit is not None
    assert all(not each.uncovered_rows for each in graph.indexes() if each.lance_type)


def test_a_branch_has_indexes_of_its_own(graph: EmbeddedGraph) -> None:
    graph.branches.create("dev")
    done = graph.ensure_indices(branch="dev", force=True)
    assert done.branch == "dev"
    assert done.commit is not None
    assert not any(each.lance_type for each in graph.indexes())
    assert any(each.lance_type for each in graph.at("dev").indexes())


def test_only_the_named_types_are_looked_at(graph: EmbeddedGraph) -> None:
    done = graph.ensure_indices(types=["Cites"], force=True)
    assert {each.type for each in done.outcomes} == {"Cites"}
    with pytest.raises(NotFound) as caught:
        graph.ensure_indices(types=["Docs"])
    assert caught.value.code == "index.unknown_type"
    assert "Doc" in (caught.value.remedy or "")


def test_results_are_told_as_json(graph: EmbeddedGraph) -> None:
    body = ensure_indices(graph.engine, force=True).to_json()
    assert body["branch"] == "main"
    assert body["commit"]
    assert body["indexes"][0] == {
        "type": "Doc",
        "property": "id",
        "kind": "order",
        "action": "built",
        "reason": "missing",
        "rows": 2,
    }
    assert list_indexes(graph.engine)[0].to_json()["lance_type"] == "BTree"
