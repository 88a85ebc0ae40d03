"""From the syntax of ``.gq`` to typed, self-contained IR.

Modules in reading order:

* ``compilation``: compiles a text or a syntax tree.
* ``lower``: a whole query.
* ``unit``: diagnostics, slots and touched types of one query.
* ``scope``: resolves names.
* ``patterns``: the clauses of a block.
* ``traversals``: directs traversals by the types of their ends.
* ``type_inference``: infers the types of variables.
* ``inline_filters``: conditions inside of bindings.
* ``stages``: stages and unions of a read.
* ``returns``: columns, order and page.
* ``columns``: names and wire types of columns.
* ``expressions``: lowers and types expressions.
* ``operands``: typed expressions with their places.
* ``calls``: operators, casts, ``case`` and calls.
* ``functions``: the types of functions.
* ``common_types``: one type for values that stand for each other.
* ``comparisons``: comparisons and membership.
* ``literals``: types of literals.
* ``constants``: literals, parameters and lists of them.
* ``search``: search functions.
* ``aggregates``: types of aggregates.
* ``grouping``: columns that mix aggregates with grouping columns.
* ``mutations``: statements that change entities.
* ``assignments``: assigned values.
* ``rules``: one module for each rule that a query must keep.
* ``codes``: the codes of the rules.
* ``params``: types the values of parameters.
* ``cache``: keeps compiled queries.
* ``lint``: advice about correct queries.
* ``lint_rules``: one module for each kind of advice.
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
