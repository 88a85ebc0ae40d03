"""From the text of a ``.gq`` file to its syntax tree.

Recursive descent by hand, in layers that each add to the one below: ``cursor`` (tokens and errors),
``literals``, ``values`` (operands), ``patterns`` (conditions and blocks), and here the queries.
Keywords are words like any other: what they mean depends on where they stand, so that properties,
aliases and queries may be called ``order`` or ``count``.

An error inside the braces of ``match``, ``return`` or ``order`` is recorded and parsing goes on
after them; an error elsewhere goes on at the next query. So independent errors are reported
together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from omnigraph.datatypes.types import DataType, ListType, Scalar, ScalarType, VectorType
from omnigraph.errors import SyntaxFailure
from omnigraph.language.diagnostics import did_you_mean, failure
from omnigraph.language.gq.ast import (
    Delete,
    Document,
    Expr,
    Insert,
    InsertVerb,
    MatchItem,
    Mutation,
    Ordering,
    Param,
    Projection,
    Query,
    Read,
    Star,
    Statement,
    UnionRead,
    Update,
)
from omnigraph.language.gq.cursor import Unparsed
from omnigraph.language.gq.patterns import PatternParser
from omnigraph.language.gq.problems import (
    MAX_DIAGNOSTICS,
    MAX_PARAMS,
    MAX_PROJECTIONS,
    MAX_QUERIES,
    MAX_STAGES,
    MAX_STATEMENTS,
    MAX_VECTOR_DIM,
    SyntaxProblem,
)
from omnigraph.language.gq.values import OperandContext
from omnigraph.language.lexer import Token, TokenKind, independent, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Source

__all__ = ["check_syntax", "parse_queries"]

_T = TypeVar("_T")

_SCALARS = {scalar.value: scalar for scalar in Scalar}
_ANNOTATIONS = ("description", "instruction")
_STATEMENTS = (*InsertVerb, "update", "delete")
_TAIL = ("order", "limit", "offset")
_QUERY_SHAPE = "a query is written `query name($param: Type) { … }`"


def parse_queries(source: Source) -> Document:
    """The queries of a file; raises ``SyntaxFailure`` with everything that is wrong with it."""
    document, problems = check_syntax(source)
    if problems:
        raise failure(SyntaxFailure, source, problems)
    return document


def check_syntax(source: Source) -> tuple[Document, list[Diagnostic]]:
    """Parse a file into a tree and its diagnostics; with errors the tree has gaps."""
    tokens, lexical = tokenize(source)
    parser = _QueryParser(source, tokens)
    document = parser.document()
    problems = parser.problems
    if lexical:
        problems = independent(source, lexical, problems)
    return document, problems[:MAX_DIAGNOSTICS]


class _QueryParser(PatternParser):
    def document(self) -> Document:
        queries: list[Query] = []
        first_by_name: dict[str, Token] = {}
        while self.token.kind is not TokenKind.EOF and len(self.problems) < MAX_DIAGNOSTICS:
            start = self.at
            known = len(self.problems)
            try:
                self.require_at_most(len(queries) + 1, MAX_QUERIES, "queries in a file")
                queries.append(self._query(first_by_name))
            except Unparsed as error:
                # After a brace was missed, reaching the end is no news.
                if len(self.problems) == known or not self.ran_out():
                    self.problems.append(error.diagnostic)
                self.skip_to_query(max(self.at, start + 1))
            self.depth = 0
        return Document(tuple(queries))

    # --- the head ------------------------------------------------------------------------------

    def _query(self, first_by_name: dict[str, Token]) -> Query:
        start = self._expect_query()
        name = self._query_name(first_by_name)
        params = self._params()
        self.param_names = {param.name for param in params}
        notes = self._annotations()
        self.expect("{", _QUERY_SHAPE)
        body = self._body(name)
        self.expect("}", f"close the query `{name.text}` with `}}`")
        return Query(
            name=name.text,
            params=params,
            description=notes.get("description"),
            instruction=notes.get("instruction"),
            body=body,
            span=self.span_from(start),
            name_span=name.span,
        )

    def _expect_query(self) -> Token:
        if self.token.text in ("node", "edge", "interface"):
            raise self.unexpected("`query`", "this looks like a schema; schemas are `.pg` files")
        if self.token.text == "query":
            return self.advance()
        raise self.unexpected("`query`", self.suggest(["query"]) or _QUERY_SHAPE)

    def _query_name(self, first_by_name: dict[str, Token]) -> Token:
        name = self.expect_kind(
            TokenKind.IDENT, "the query's name", "query names start with a lower-case letter"
        )
        first = first_by_name.setdefault(name.text, name)
        if first is not name:
            line = self.source.position(first.start).line
            self.report(
                SyntaxProblem.DUPLICATE_QUERY,
                f"there is already a query `{name.text}` in this file, on line {line}",
                at=name,
                remedy="give it another name",
            )
        return name

    def _params(self) -> tuple[Param, ...]:
        self.expect("(", _QUERY_SHAPE)
        params: dict[str, Param] = {}
        while self.token.text != ")":
            self.require_at_most(len(params) + 1, MAX_PARAMS, "parameters")
            param = self._param()
            if param.name in params:
                self.report(
                    SyntaxProblem.DUPLICATE_PARAM,
                    f"the parameter `${param.name}` is declared twice",
                    at=param.span,
                    remedy="remove one, or give it another name",
                )
            params[param.name] = param
            if not self.accept(","):
                break
        self.expect(")", "parameters are separated by commas")
        return tuple(params.values())

    def _param(self) -> Param:
        name = self.variable_name()
        self.expect(":", f"write `{name.text}: String`")
        dtype = self._param_type()
        nullable = self.accept("?")
        return Param(name.text[1:], dtype, nullable, self.span_from(name))

    def _param_type(self) -> DataType:
        token = self.token
        if self.accept("["):
            item = self._scalar()
            self.expect("]", "a list type is written `[String]`")
            return ListType(item)
        if token.text == "Vector":
            self.advance()
            return VectorType(self._dimension())
        return ScalarType(self._scalar())

    def _scalar(self) -> Scalar:
        scalar = _SCALARS.get(self.token.text)
        if scalar is None:
            raise self._unknown_type()
        self.advance()
        return scalar

    def _dimension(self) -> int:
        self.expect("(", "write the dimension: `Vector(768)`")
        token = self.expect_kind(TokenKind.INT, "the vector's dimension", "write `Vector(768)`")
        dim = int(token.value)
        if not 1 <= dim <= MAX_VECTOR_DIM:
            raise self.error(
                SyntaxProblem.PARAM_TYPE,
                f"a vector has between 1 and {MAX_VECTOR_DIM:,} dimensions",
                at=token,
                remedy="use the dimension that the schema declares",
            )
        self.expect(")")
        return dim

    def _unknown_type(self) -> Unparsed:
        word = self.token.text
        if word == "enum":
            remedy = "declare the parameter as String: the schema checks enum values"
        else:
            known = (*_SCALARS, "Vector(n)")
            named = self.token.kind in (TokenKind.TYPE_NAME, TokenKind.IDENT)
            remedy = (did_you_mean(word, known) if named else None) or (
                f"the types are {', '.join(known)}, and lists `[…]` of scalars"
            )
        return self.error(
            SyntaxProblem.PARAM_TYPE,
            f"{self.described()} is not the type of a parameter",
            remedy=remedy,
        )

    def _annotations(self) -> dict[str, str]:
        notes: dict[str, str] = {}
        while self.accept("@"):
            name = self.token
            if name.text not in _ANNOTATIONS:
                raise self.error(
                    SyntaxProblem.ANNOTATION,
                    f"queries have no annotation `@{name.text}`",
                    remedy=self.suggest(_ANNOTATIONS)
                    or "the annotations are @description and @instruction",
                )
            self.advance()
            if name.text in notes:
                self.report(
                    SyntaxProblem.ANNOTATION,
                    f"`@{name.text}` is given twice",
                    at=name,
                    remedy="keep one of them",
                )
            self.expect("(", f'write `@{name.text}("…")`')
            text = self.expect_kind(TokenKind.STRING, "a string", f'write `@{name.text}("…")`')
            notes[name.text] = str(text.value)
            self.expect(")")
        return notes

    def _body(self, name: Token) -> Read | UnionRead | Mutation:
        if self.token.text == "match":
            return self._read()
        if self.token.text in _STATEMENTS:
            return self._mutation(name)
        if self.token.text == "return":
            raise self.unexpected(
                "`match`", "a read begins with what it matches: `match { $x: Type }`"
            )
        raise self.unknown_word("the body of a query", ("match", *_STATEMENTS))

    # --- reads ---------------------------------------------------------------------------------

    def _read(self) -> Read | UnionRead:
        start = self.token
        parts = [self._stages()]
        kinds: set[bool] = set()
        while self.token.text == "union":
            word = self.advance()
            self.require_at_most(len(parts) + 1, MAX_STAGES, "parts of a union")
            kinds.add(self.accept("all"))
            if len(kinds) > 1:
                raise self.error(
                    SyntaxProblem.UNEXPECTED,
                    "`union` and `union all` are mixed",
                    at=word,
                    remedy="use one of them for all parts",
                )
            parts.append(self._stages())
        if self.token.text != "}" and not self.ran_out():
            raise self.unknown_word("`}` or the rest of the query", (*_TAIL, "then", "union"))
        if len(parts) == 1:
            return parts[0]
        return UnionRead(tuple(parts), kinds == {True}, self.span_from(start))

    def _stages(self) -> Read:
        """Stages joined by ``then``."""
        read = self._stage(None)
        count = 1
        while self.accept("then"):
            count += 1
            self.require_at_most(count, MAX_STAGES, "stages")
            read = self._stage(read)
        return read

    def _stage(self, source: Read | None) -> Read:
        start = self.token
        match: tuple[MatchItem, ...] = ()
        if source is None or self.token.text == "match":
            self.expect("match", "a read begins with what it matches: `match { $x: Type }`")
            match = self._braced(self.clauses) or ()
        self.expect(
            "return", self.suggest(["return"]) or "a read says what it returns: `return { $x }`"
        )
        distinct = self.accept("distinct")
        returns = self._braced(self._projections) or ()
        having = self.condition(OperandContext.RESULT) if self.accept("having") else None
        order: tuple[Ordering, ...] = ()
        counts: dict[str, Expr] = {}
        seen: set[str] = set()
        while (word := self.token.text) in _TAIL:
            if word in seen:
                raise self.unexpected("the end of the query", f"write `{word}` once")
            seen.add(word)
            self.advance()
            if word == "order":
                order = self._braced(self._orderings) or ()
            else:
                counts[word] = self._row_count(word)
        return Read(
            match=match,
            returns=returns,
            distinct=distinct,
            order=order,
            limit=counts.get("limit"),
            offset=counts.get("offset"),
            span=self.span_from(start),
            having=having,
            source=source,
        )

    def _braced(self, content: Callable[[], _T]) -> _T | None:
        """``{ content }``; an error in it is recorded and the block skipped, if it has an end."""
        opening = self.at
        depth = self.depth
        self.expect("{")
        try:
            found = content()
            self.expect("}")
        except Unparsed as error:
            if not self.skip_block(opening):
                raise
            self.problems.append(error.diagnostic)
            self.depth = depth
            return None
        return found

    def _projections(self) -> tuple[Projection, ...]:
        projections: list[Projection] = []
        while self.token.text != "}":
            self.require_at_most(len(projections) + 1, MAX_PROJECTIONS, "result columns")
            projections.append(self._projection())
            self.separate("result columns")
        if not projections:
            raise self.unexpected("a result column", "return at least one: `return { $x.name }`")
        return tuple(projections)

    def _projection(self) -> Projection:
        start = self.token
        if self.accept("*"):
            star = Star(start.span)
            return Projection(star, None, start.span)
        expr = self.condition(OperandContext.RESULT)
        alias = None
        if self.accept("as"):
            remedy = "aliases start with a lower-case letter, and `as` itself is none"
            if self.token.text == "as":
                raise self.unexpected("an alias", remedy)
            alias = self.expect_kind(TokenKind.IDENT, "an alias", remedy).text
        return Projection(expr, alias, self.span_from(start))

    def _orderings(self) -> tuple[Ordering, ...]:
        orderings: list[Ordering] = []
        while self.token.text != "}":
            self.require_at_most(len(orderings) + 1, MAX_PROJECTIONS, "sort keys")
            orderings.append(self._ordering())
            if not self.accept(",") and self.token.text != "}":
                raise self.unexpected(
                    "`,` or `}`", "sort keys are separated by commas, directions are asc and desc"
                )
        if not orderings:
            raise self.unexpected("a sort key", "write `order { $x.name desc }`, or leave it out")
        return tuple(orderings)

    def _ordering(self) -> Ordering:
        start = self.token
        expr = self.condition(OperandContext.RESULT)
        descending = None
        if self.token.text in ("asc", "desc"):
            descending = self.advance().text == "desc"
        return Ordering(expr, descending, self.span_from(start))

    def _row_count(self, word: str) -> Expr:
        if self.token.kind not in (TokenKind.INT, TokenKind.VARIABLE):
            raise self.unexpected(
                f"a number of rows after `{word}`", f"write `{word} 10`, or pass it: `{word} $n`"
            )
        return self.primary(OperandContext.VALUE)

    # --- mutations -----------------------------------------------------------------------------

    def _mutation(self, name: Token) -> Mutation:
        start = self.token
        statements: list[Statement] = []
        while self.token.text != "}":
            self.require_at_most(len(statements) + 1, MAX_STATEMENTS, "statements")
            statements.append(self._statement())
        self._require_one_kind(name, statements)
        return Mutation(tuple(statements), self.span_from(start))

    def _statement(self) -> Statement:
        start = self.token
        match start.text:
            case "insert" | "create" | "replace":
                type_name = self._changed_type()
                assignments = self.assignments(OperandContext.VALUE)
                return Insert(
                    InsertVerb(start.text),
                    type_name.text,
                    assignments,
                    self.span_from(start),
                    type_name.span,
                )
            case "update":
                type_name = self._changed_type()
                variable = self._entity_variable()
                self.expect("set", self.suggest(["set"]) or "write `update Type set { … } where …`")
                assignments = self.assignments(OperandContext.SET)
                where = self._where("update Type set { … }")
                return Update(
                    type_name.text,
                    assignments,
                    where,
                    self.span_from(start),
                    type_name.span,
                    variable,
                )
            case "delete":
                type_name = self._changed_type()
                variable = self._entity_variable()
                where = self._where("delete Type")
                span = self.span_from(start)
                return Delete(type_name.text, where, span, type_name.span, variable)
            case _:
                raise self.unknown_word("a statement or `}`", _STATEMENTS)

    def _entity_variable(self) -> str | None:
        """``as $x`` after the type of an update or delete."""
        self.entity_variable = self.variable_name().text[1:] if self.accept("as") else None
        return self.entity_variable

    def _changed_type(self) -> Token:
        self.advance()
        if self.token.kind is TokenKind.IDENT:
            name = self.token.text
            raise self.unexpected(
                "a type name", f"type names start upper case: `{name[0].upper()}{name[1:]}`"
            )
        return self.expect_kind(TokenKind.TYPE_NAME, "a type name", "name the type to change")

    def _where(self, statement: str) -> Expr:
        self.expect(
            "where",
            self.suggest(["where"]) or f"say which ones: `{statement} where name = $name`",
        )
        return self.condition(OperandContext.WHERE)

    def _require_one_kind(self, name: Token, statements: list[Statement]) -> None:
        """Deletes do not share a mutation with inserts and updates."""
        deletes = isinstance(statements[0], Delete)
        for statement in statements:
            if isinstance(statement, Delete) is not deletes:
                self.report(
                    SyntaxProblem.MIXED_MUTATION,
                    f"the mutation `{name.text}` mixes deletes with inserts or updates",
                    at=statement.span,
                    remedy="split it into two queries, first the inserts and updates, then the "
                    "deletes; to land both as one commit, run them on a branch and merge it",
                )
                return
