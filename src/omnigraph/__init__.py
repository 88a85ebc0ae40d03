"""OmniGraph: a typed property graph on Lance, versioned like Git.

``init`` creates a graph, ``open`` opens one, ``Graph`` is the type of both; ``clone`` copies one;
``Budget`` bounds a query; ``infer_schema`` drafts a schema from files; ``errors`` holds everything
that they may raise. Names are loaded on first use, so that importing the package costs nothing and
needs neither Arrow nor Lance.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0.dev0"

__all__ = ["Budget", "Graph", "__version__", "clone", "errors", "infer_schema", "init", "open"]

# Not imported from typing: that alone would double the time of `omnigraph --version`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from omnigraph import errors
    from omnigraph.api.graph import Graph
    from omnigraph.graph.open import clone_graph as clone
    from omnigraph.graph.open import init_graph as init
    from omnigraph.loading.inference import infer_schema
    from omnigraph.opening import open_anywhere as open  # noqa: A004 - so it is called
    from omnigraph.runtime.budget import Budget

_HOMES = {
    "Budget": ("omnigraph.runtime.budget", "Budget"),
    "Graph": ("omnigraph.api.graph", "Graph"),
    "clone": ("omnigraph.graph.open", "clone_graph"),
    "infer_schema": ("omnigraph.loading.inference", "infer_schema"),
    "init": ("omnigraph.graph.open", "init_graph"),
    "open": ("omnigraph.opening", "open_anywhere"),
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("omnigraph.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return globals().setdefault(name, getattr(importlib.import_module(module), attribute))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
