"""What ``import omnigraph`` offers."""

from __future__ import annotations

import inspect

import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.api.results import QueryResult
from omnigraph.catalog.model import Catalog
from omnigraph.graph.at import EmbeddedGraphAt
from omnigraph.graph.changes import Changes
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.namespaces import Branches, Commits, Operations, Recoveries, Tags
from omnigraph.graph.open import clone_graph, init_graph
from omnigraph.opening import open_anywhere


def test_the_public_names_are_what_they_say() -> None:
    assert omnigraph.init is init_graph
    assert omnigraph.open is open_anywhere
    assert omnigraph.clone is clone_graph
    assert omnigraph.Graph is Graph
    assert omnigraph.errors.NotFound.__module__ == "omnigraph.errors"
    assert set(omnigraph.__all__) <= set(dir(omnigraph))


def test_any_other_name_is_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        omnigraph.nonsense  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize(
    "shown",
    [
        EmbeddedGraph,
        EmbeddedGraphAt,
        QueryResult,
        Catalog,
        Branches,
        Tags,
        Commits,
        Changes,
        Operations,
        Recoveries,
    ],
)
def test_everything_that_help_shows_says_what_it_is(shown: type) -> None:
    members = [
        member
        for name, member in inspect.getmembers(shown)
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    ]
    assert members
    assert [member for member in (shown, *members) if not inspect.getdoc(member)] == []
    for name in omnigraph.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(omnigraph, name))
