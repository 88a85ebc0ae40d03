"""A syntax tree back as text, in one canonical layout.

Interfaces come first, then nodes, then edges. The printed text parses into the same tree,
but for positions. Comments are not part of the tree.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import spell_type
from omnigraph.language.lexer import quote_string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.language.pg.ast import (
        Annotation,
        AnnotationValue,
        Cardinality,
        Constraint,
        EdgeDecl,
        InterfaceDecl,
        NodeDecl,
        PropertyDecl,
        RangeBound,
        SchemaDocument,
    )

__all__ = ["print_schema"]

_INDENT = "    "


def print_schema(document: SchemaDocument) -> str:
    """The schema in canonical layout, ending with a line break unless it is empty."""
    blocks = [
        *(_interface(decl) for decl in document.interfaces),
        *(_node(decl) for decl in document.nodes),
    ]
    edges = [_edge(decl) for decl in document.edges]
    text = "\n\n".join(blocks)
    if edges:
        text += ("\n\n" if blocks else "") + _join_edges(edges)
    return f"{text}\n" if text else ""


def _join_edges(edges: list[str]) -> str:
    """Edges without a body stand line under line; one with a body has room around it."""
    text = edges[0]
    for before, edge in pairwise(edges):
        text += ("\n\n" if "\n" in before or "\n" in edge else "\n") + edge
    return text


def _interface(decl: InterfaceDecl) -> str:
    head = _words(f"interface {decl.name}", _annotations(decl.annotations))
    return f"{head} {_body(decl.properties, decl.constraints)}"


def _node(decl: NodeDecl) -> str:
    implements = ", ".join(name for name, _ in decl.implements)
    head = _words(
        f"node {decl.name}",
        _annotations(decl.annotations),
        f"implements {implements}" if implements else "",
    )
    return f"{head} {_body(decl.properties, decl.constraints)}"


def _edge(decl: EdgeDecl) -> str:
    head = _words(
        f"edge {decl.name}: {decl.source} -> {decl.target}",
        _cardinality(decl.cardinality) if decl.cardinality else "",
        _annotations(decl.annotations),
    )
    if not decl.properties and not decl.constraints:
        return head
    return f"{head} {_body(decl.properties, decl.constraints)}"


def _body(properties: tuple[PropertyDecl, ...], constraints: tuple[Constraint, ...]) -> str:
    if not properties and not constraints:
        return "{}"
    lines = [f"{_INDENT}{_property(prop)}" for prop in properties]
    if properties and constraints:
        lines.append("")
    lines += [f"{_INDENT}{_constraint(constraint)}" for constraint in constraints]
    return "\n".join(["{", *lines, "}"])


def _property(prop: PropertyDecl) -> str:
    return _words(
        f"{prop.name}: {spell_type(prop.dtype, nullable=prop.nullable)}",
        " ".join(_constraint(constraint) for constraint in prop.constraints),
        _annotations(prop.annotations),
    )


def _constraint(constraint: Constraint) -> str:
    args = [] if constraint.on_property else list(constraint.props)
    if constraint.bound is not None:
        args.append(_bound(constraint.bound))
    if constraint.pattern is not None:
        args.append(quote_string(constraint.pattern))
    return f"@{constraint.name}({', '.join(args)})" if args else f"@{constraint.name}"


def _bound(bound: RangeBound) -> str:
    low = "" if bound.low is None else repr(bound.low)
    high = "" if bound.high is None else repr(bound.high)
    return f"{low}..{high}"


def _cardinality(cardinality: Cardinality) -> str:
    high = "*" if cardinality.high is None else cardinality.high
    return f"@card({cardinality.low}..{high})"


def _annotations(annotations: Iterable[Annotation]) -> str:
    return " ".join(_annotation(annotation) for annotation in annotations)


def _annotation(annotation: Annotation) -> str:
    args = [_value(value) for value in annotation.args]
    args += [f"{key}={_value(value)}" for key, value in annotation.kwargs]
    return f"@{annotation.name}({', '.join(args)})" if args else f"@{annotation.name}"


def _value(value: AnnotationValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote_string(value)
        case _:
            return repr(value)


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)
