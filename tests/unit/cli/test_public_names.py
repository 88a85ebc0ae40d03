"""What ``import omnigraph`` offers."""

from __future__ import annotations

import pytest

import omnigraph
from omnigraph.client.opening import open_anywhere
from omnigraph.graph.facade import Graph
from omnigraph.graph.open import clone_graph, init_graph


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
