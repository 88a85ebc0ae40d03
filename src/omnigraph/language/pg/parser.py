"""From the text of a schema to its syntax tree.

Recursive descent without recursion: the grammar does not nest. An error unwinds to the next
property or declaration, so that one text reports all its independent errors.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.errors import SyntaxFailure
from omnigraph.language.diagnostics import did_you_mean, failure
from omnigraph.language.lexer import TokenKind, independent, tokenize
from omnigraph.language.pg.annotations import (
    CONSTRAINTS,
    at_body_constraint,
    parse_annotation,
    parse_body_constraint,
    parse_cardinality,
    parse_property_constraint,
)
from omnigraph.language.pg.ast import (
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    PropertyDecl,
    SchemaDocument,
)
from omnigraph.language.pg.cursor import DECLARATIONS, NAMES, Abandoned, Cursor, Unparsed
from omnigraph.language.pg.problems import SchemaSyntaxProblem
from omnigraph.language.pg.types import parse_type

if TYPE_CHECKING:
    from omnigraph.language.lexer import Token
    from omnigraph.language.pg.ast import Annotation, Cardinality, Constraint
    from omnigraph.language.source import Source, Span

__all__ = ["parse_schema"]


def parse_schema(source: Source) -> SchemaDocument:
    """The syntax tree of a schema; every independent error at once as ``SyntaxFailure``."""
    tokens, lexical = tokenize(source)
    parser = _Parser(Cursor(source.text, tokens))
    document = parser.parse()
    if problems := independent(source, lexical, parser.cursor.problems):
        raise failure(SyntaxFailure, source, problems)
    return document


@dataclass(slots=True)
class _Head:
    """The clauses between the name of a type and its body."""

    annotations: list[Annotation] = field(default_factory=list)
    implements: list[tuple[str, Span]] = field(default_factory=list)
    cardinality: Cardinality | None = None


@dataclass(slots=True)
class _Body:
    properties: list[PropertyDecl] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)


class _Parser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.interfaces: list[InterfaceDecl] = []
        self.nodes: list[NodeDecl] = []
        self.edges: list[EdgeDecl] = []

    def parse(self) -> SchemaDocument:
        with suppress(Abandoned):
            self._parse_declarations()
        return SchemaDocument(tuple(self.interfaces), tuple(self.nodes), tuple(self.edges))

    # --- declarations --------------------------------------------------------------------------

    def _parse_declarations(self) -> None:
        cursor = self.cursor
        while cursor.token.kind is not TokenKind.EOF:
            try:
                self._parse_declaration()
            except Unparsed as error:
                cursor.record(error.diagnostic)
                if not cursor.at_declaration():
                    cursor.skip_until(cursor.at_probable_declaration)

    def _parse_declaration(self) -> None:
        match self.cursor.token.text:
            case "interface":
                self._parse_interface()
            case "node":
                self._parse_node()
            case "edge":
                self._parse_edge()
            case word:
                self.cursor.unexpected("`node`, `edge` or `interface`", _declaration_remedy(word))

    def _parse_interface(self) -> None:
        start = self.cursor.advance()
        name = self._type_name("the name of the interface")
        head = self._parse_head("interface")
        body = self._parse_body(start)
        self.interfaces.append(
            InterfaceDecl(
                name=name.text,
                properties=tuple(body.properties),
                constraints=tuple(body.constraints),
                annotations=tuple(head.annotations),
                span=self.cursor.span_from(start),
                name_span=name.span,
            )
        )

    def _parse_node(self) -> None:
        start = self.cursor.advance()
        name = self._type_name("the name of the node type")
        head = self._parse_head("node")
        body = self._parse_body(start)
        self.nodes.append(
            NodeDecl(
                name=name.text,
                implements=tuple(head.implements),
                properties=tuple(body.properties),
                constraints=tuple(body.constraints),
                annotations=tuple(head.annotations),
                span=self.cursor.span_from(start),
                name_span=name.span,
            )
        )

    def _parse_edge(self) -> None:
        cursor = self.cursor
        start = cursor.advance()
        name = self._type_name("the name of the edge type")
        example = f"write `edge {name.text}: From -> To`"
        cursor.expect(":", example)
        source = self._type_name("the node type that the edge leaves")
        cursor.expect("->", example)
        target = self._type_name("the node type that the edge reaches")
        head = self._parse_head("edge")
        body = self._parse_body(start) if cursor.token.text == "{" else _Body()
        self.edges.append(
            EdgeDecl(
                name=name.text,
                source=source.text,
                target=target.text,
                cardinality=head.cardinality,
                properties=tuple(body.properties),
                constraints=tuple(body.constraints),
                annotations=tuple(head.annotations),
                span=cursor.span_from(start),
                name_span=name.span,
                source_span=source.span,
                target_span=target.span,
            )
        )

    def _type_name(self, what: str) -> Token:
        cursor = self.cursor
        if cursor.token.kind not in NAMES:
            cursor.unexpected(what, "type names start with an upper-case letter")
        token = cursor.advance()
        if token.kind is TokenKind.IDENT:
            cursor.report(
                SchemaSyntaxProblem.TYPE_NAME_CASE,
                f"the type name `{token.text}` starts lower case",
                at=token.span,
                remedy=f"write `{_upper_first(token.text)}`",
            )
        return token

    # --- heads ---------------------------------------------------------------------------------

    def _parse_head(self, kind: str) -> _Head:
        cursor = self.cursor
        head = _Head()
        while True:
            if cursor.token.text == "@":
                self._parse_head_annotation(head, kind)
            elif cursor.token.text == "implements":
                self._parse_implements(head, kind)
            else:
                return head

    def _parse_head_annotation(self, head: _Head, kind: str) -> None:
        cursor = self.cursor
        name = cursor.ahead.text
        if name == "card":
            self._parse_head_cardinality(head, kind)
        elif name in CONSTRAINTS:
            cursor.fail(
                SchemaSyntaxProblem.MISPLACED,
                f"`@{name}` does not belong before the body",
                remedy=f"put it after a property, or into the body as `@{name}(…)`",
            )
        else:
            head.annotations.append(parse_annotation(cursor))

    def _parse_head_cardinality(self, head: _Head, kind: str) -> None:
        cursor = self.cursor
        cardinality = parse_cardinality(cursor)
        if kind != "edge":
            cursor.report(
                SchemaSyntaxProblem.MISPLACED,
                f"`@card` does not belong to a type of kind {kind}",
                at=cardinality.span,
                remedy="it counts edges: put it after the head of an edge",
            )
        elif head.cardinality:
            cursor.report(
                SchemaSyntaxProblem.REPEATED_CARDINALITY,
                "this edge has a second `@card`",
                at=cardinality.span,
                remedy="keep one",
            )
        head.cardinality = cardinality

    def _parse_implements(self, head: _Head, kind: str) -> None:
        cursor = self.cursor
        if kind != "node":
            cursor.fail(
                SchemaSyntaxProblem.MISPLACED,
                "only node types implement interfaces",
                remedy="repeat the properties here",
            )
        cursor.advance()
        while True:
            name = self._type_name("the name of an interface")
            head.implements.append((name.text, name.span))
            if not cursor.accept(","):
                return

    # --- bodies --------------------------------------------------------------------------------

    def _parse_body(self, start: Token) -> _Body:
        cursor = self.cursor
        cursor.expect("{", "the body of a type stands in braces, even when it is empty: `{}`")
        body = _Body()
        while not cursor.accept("}"):
            if cursor.token.kind is TokenKind.EOF or cursor.at_declaration():
                cursor.fail(
                    SchemaSyntaxProblem.UNCLOSED,
                    f"the body of this {start.text} is never closed",
                    at=start.span,
                    remedy="close it with `}`",
                )
            try:
                self._parse_member(body)
            except Unparsed as error:
                cursor.record(error.diagnostic)
                if not self._at_member_end():
                    cursor.skip_until(self._at_member_end)
        return body

    def _at_member_end(self) -> bool:
        """Where the next property, the end of the body or the next declaration begins."""
        cursor = self.cursor
        if cursor.token.kind in NAMES:
            return cursor.ahead.text == ":" or cursor.starts_line() or cursor.at_declaration()
        return cursor.token.text == "}"

    def _parse_member(self, body: _Body) -> None:
        cursor = self.cursor
        token = cursor.token
        if token.kind in NAMES:
            body.properties.append(self._parse_property())
            cursor.accept(",")
        elif token.text == "@":
            self._parse_body_annotation(body)
        elif token.text in (",", ";"):
            cursor.report(
                SchemaSyntaxProblem.SEPARATOR,
                f"`{token.text}` does not separate properties",
                remedy="separate properties by line breaks or single commas",
            )
            cursor.advance()
        else:
            cursor.unexpected("a property or a constraint", "properties look like `name: String`")

    def _parse_body_annotation(self, body: _Body) -> None:
        cursor = self.cursor
        name = cursor.ahead
        if at_body_constraint(cursor):
            body.constraints.append(parse_body_constraint(cursor))
        elif name.text in CONSTRAINTS:
            cursor.fail(
                SchemaSyntaxProblem.CONSTRAINT_ARGUMENTS,
                f"`@{name.text}` names no property",
                remedy=f"put it right after a property, or name the properties: `@{name.text}(…)`",
            )
        else:
            self._refuse_cardinality()
            cursor.fail(
                SchemaSyntaxProblem.MISPLACED,
                f"`@{name.text}` belongs to nothing here",
                remedy="put it right after a property, or after the name of the type",
            )

    def _refuse_cardinality(self) -> None:
        if self.cursor.ahead.text == "card":
            self.cursor.fail(
                SchemaSyntaxProblem.MISPLACED,
                "`@card` does not belong in a body",
                remedy="put it before the body: `edge Name: From -> To @card(0..1) { … }`",
            )

    def _parse_property(self) -> PropertyDecl:
        cursor = self.cursor
        name = cursor.advance()
        if name.kind is TokenKind.TYPE_NAME:
            cursor.report(
                SchemaSyntaxProblem.PROPERTY_NAME_CASE,
                f"the property name `{name.text}` starts upper case",
                at=name.span,
                remedy=f"write `{_lower_first(name.text)}`",
            )
        cursor.expect(":", f"properties look like `{_lower_first(name.text)[:40]}: String`")
        dtype, nullable = parse_type(cursor)
        annotations: list[Annotation] = []
        constraints: list[Constraint] = []
        # A constraint that names properties ends this one: it belongs to the body.
        while cursor.token.text == "@" and not at_body_constraint(cursor):
            self._refuse_cardinality()
            if cursor.ahead.text in CONSTRAINTS:
                constraints.append(parse_property_constraint(cursor, name.text))
            else:
                annotations.append(parse_annotation(cursor))
        return PropertyDecl(
            name=name.text,
            dtype=dtype,
            nullable=nullable,
            annotations=tuple(annotations),
            constraints=tuple(constraints),
            span=cursor.span_from(name),
            name_span=name.span,
        )


def _declaration_remedy(word: str) -> str:
    if word == "query":
        return "this looks like a query; queries are `.gq` files"
    close = did_you_mean(word, DECLARATIONS) if len(word) <= 40 else None
    return close or "a schema is a list of interfaces, nodes and edges"


def _upper_first(name: str) -> str:
    """``_my_type`` and ``my_type`` as the type name that was probably meant."""
    bare = name.lstrip("_") or "Name"
    return bare[0].upper() + bare[1:]


def _lower_first(name: str) -> str:
    return name[0].lower() + name[1:]
