"""From the syntax of ``.gq`` to typed, self-contained IR.

In the order of control: ``compilation`` holds the doors; ``lower`` walks a query; ``patterns``
(with ``traversals`` and ``inline_filters``), ``returns`` and ``mutations`` (with ``assignments``)
are its parts; ``expressions`` lowers what stands in them, with ``comparisons``, ``search``,
``aggregates``, ``constants`` and ``literals``; ``scope`` knows what names mean, and ``unit``
collects findings and the types that are touched. Every rule is a module of its own in ``rules``;
``codes`` lists them. ``params`` types the values of parameters; ``cache`` keeps compiled queries.
"""

from __future__ import annotations

from omnigraph.compiler.cache import CompileCache
from omnigraph.compiler.codes import CODES
from omnigraph.compiler.compilation import (
    check_document,
    check_query,
    compile_document,
    compile_query,
    compile_source,
    require_texts,
    select_query,
)
from omnigraph.compiler.params import bind_params

__all__ = [
    "CODES",
    "CompileCache",
    "bind_params",
    "check_document",
    "check_query",
    "compile_document",
    "compile_query",
    "compile_source",
    "require_texts",
    "select_query",
]
