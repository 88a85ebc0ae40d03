"""The syntax tree of ``.pg``: the structure of the text, before anything is resolved or checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.source import Span

__all__ = [
    "Annotation",
    "Cardinality",
    "Constraint",
    "EdgeDecl",
    "InterfaceDecl",
    "NodeDecl",
    "PropertyDecl",
    "RangeBound",
    "SchemaDocument",
]

AnnotationValue = str | int | float | bool


@frozen
class Annotation:
    """``@name``, ``@name(value)``, ``@name(value, key=value)``; ident arguments are strings."""

    name: str
    args: tuple[AnnotationValue, ...]
    kwargs: tuple[tuple[str, AnnotationValue], ...]
    span: Span


@frozen
class RangeBound:
    """``lo..hi``; a missing side is open. Both sides are included."""

    low: int | float | None
    high: int | float | None


@frozen
class Constraint:
    """``@key(a, b)`` in a body, or ``@key`` on a property (then ``props`` is that property).

    ``name`` is key, unique, index, range or check; ``bound`` is set for range, ``pattern`` for
    check.
    """

    name: str
    props: tuple[str, ...]
    bound: RangeBound | None
    pattern: str | None
    on_property: bool
    span: Span
    # Where each of ``props`` stands in a body constraint; empty on a property.
    prop_spans: tuple[Span, ...] = ()


@frozen
class Cardinality:
    """``@card(min..max)``: how many edges a source may have; ``high`` is None for ``*``."""

    low: int
    high: int | None
    span: Span


@frozen
class PropertyDecl:
    """``name: Type? @annotations``. Constraint annotations are not in ``annotations``."""

    name: str
    dtype: DataType
    nullable: bool
    annotations: tuple[Annotation, ...]
    constraints: tuple[Constraint, ...]
    span: Span
    name_span: Span


@frozen
class InterfaceDecl:
    name: str
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[Constraint, ...]
    annotations: tuple[Annotation, ...]
    span: Span
    name_span: Span


@frozen
class NodeDecl:
    name: str
    implements: tuple[tuple[str, Span], ...]
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[Constraint, ...]
    annotations: tuple[Annotation, ...]
    span: Span
    name_span: Span


@frozen
class EdgeDecl:
    name: str
    source: str
    target: str
    cardinality: Cardinality | None
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[Constraint, ...]
    annotations: tuple[Annotation, ...]
    span: Span
    name_span: Span
    source_span: Span
    target_span: Span


@frozen
class SchemaDocument:
    interfaces: tuple[InterfaceDecl, ...]
    nodes: tuple[NodeDecl, ...]
    edges: tuple[EdgeDecl, ...]
