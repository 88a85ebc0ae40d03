"""Format the IR as text, for `explain`, the demo and the fixtures of the compiler's tests.

Types and properties appear by name if the caller passes a catalog, and by id otherwise.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.datatypes.types import spell_type
from omnigraph.ir import expressions as ir
from omnigraph.ir.functions import Function
from omnigraph.ir.queries import (
    Delete,
    EntitySlot,
    Insert,
    MutationIR,
    ReadIR,
    Stage,
    Union,
    Update,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.ir.queries import (
        Assignment,
        Block,
        Column,
        Hop,
        ParamSpec,
        QueryIR,
        ResultColumn,
        StatementIR,
        TypeUse,
    )

__all__ = ["Names", "Speller", "print_ir"]

_ITEMS_SHOWN_MAX = 8
_STEP = "  "
_INFIX = frozenset(
    {
        *(Function.ADD, Function.SUBTRACT, Function.MULTIPLY, Function.DIVIDE),
        *(Function.MODULO, Function.CONCATENATE),
    }
)


class _Property(Protocol):
    @property
    def name(self) -> str: ...


class _Type(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def by_id(self) -> Mapping[Any, _Property]: ...


class Names(Protocol):
    """Provides the names of types and properties, such as a catalog."""

    @property
    def types(self) -> Mapping[Any, _Type]: ...


def print_ir(query: QueryIR, names: Names | None = None) -> str:
    """Format a query, one clause per line."""
    printer = _Printer(names)
    lines = printer.read(query) if isinstance(query, ReadIR) else printer.mutation(query)
    return "\n".join(lines) + "\n"


class Speller:
    """Formats expressions and hops of a query, each on one line."""

    def __init__(self, slots: Iterable[Column], names: Names | None = None) -> None:
        self._printer = _Printer(names)
        for slot in slots:
            self._printer.introduce(slot)

    def expr(self, expr: ir.Expr) -> str:
        return " ".join(self._printer.expr(expr).split())

    def hop(self, hop: Hop) -> str:
        return self._printer.hop(hop)

    def slot(self, slot: ir.Slot) -> str:
        return self._printer.expr(ir.EntityRef(slot, ""))

    def type(self, type_id: str) -> str:
        return self._printer.type(type_id)


class _Printer:
    def __init__(self, names: Names | None) -> None:
        self._names = names
        self._slot_types: dict[ir.Slot, str] = {}
        self._labels: dict[ir.Slot, str] = {}

    # --- queries -------------------------------------------------------------------------------

    def read(self, query: ReadIR) -> Iterator[str]:
        yield f"query {query.name}({_params(query.params)})"
        yield f"{_STEP}reads {_uses(query.reads)}"
        yield from (f"{_STEP}{line}" for line in self._source(query.match))
        yield f"{_STEP}match"
        yield from self._indented(self._block(query.match))
        yield f"{_STEP}return distinct" if query.distinct else f"{_STEP}return"
        for column, projection in zip(query.columns, query.returns, strict=True):
            yield f"{_STEP * 2}{_column(column)} = {self.expr(projection.expr)}"
        yield from (f"{_STEP}{line}" for line in self._clauses(query))

    def _clauses(self, query: ReadIR | Stage) -> Iterator[str]:
        if query.having is not None:
            yield f"having {self.expr(query.having)}"
        if query.order:
            yield "order"
            for key in query.order:
                direction = "desc" if key.descending else "asc"
                yield f"{_STEP}{self.expr(key.expr)} {direction}"
        for word, count in (("limit", query.limit), ("offset", query.offset)):
            if count is not None:
                yield f"{word} {self.expr(count)}"

    def _source(self, block: Block) -> Iterator[str]:
        """The table that a pattern extends."""
        match block.source:
            case Stage() as stage:
                yield from self._stage(stage)
                yield "then"
            case Union(parts=parts, distinct=distinct, outputs=outputs):
                for part in parts:
                    yield "union" if distinct else "union all"
                    yield from (f"{_STEP}{line}" for line in self._stage(part))
                for output in outputs:
                    self.introduce(output)
                yield f"as {', '.join(self._labels[each.slot] for each in outputs)}"
            case None:
                pass

    def _stage(self, stage: Stage) -> Iterator[str]:
        yield from self._source(stage.match)
        yield "match"
        yield from (f"{_STEP}{line}" for line in self._block(stage.match))
        yield "return distinct" if stage.distinct else "return"
        exprs = [self.expr(each.expr) for each in stage.returns]
        clauses = [*self._clauses(stage)]
        for output, expr in zip(stage.outputs, exprs, strict=True):
            self.introduce(output)
            yield f"{_STEP}{self._labels[output.slot]} = {expr}"
        yield from clauses

    def mutation(self, query: MutationIR) -> Iterator[str]:
        yield f"mutation {query.name}({_params(query.params)})"
        yield f"{_STEP}reads {_uses(query.reads)}"
        yield f"{_STEP}writes {_uses(query.writes)}"
        for statement in query.statements:
            self._labels[ir.Slot(0)] = ""
            self._slot_types[ir.Slot(0)] = statement.type_id
            yield from (f"{_STEP}{line}" for line in self._statement(statement))

    def _statement(self, statement: StatementIR) -> Iterator[str]:
        target = f"{statement.kind} {self.type(statement.type_id)}"
        match statement:
            case Insert(mode=mode, assignments=assignments, source=source, target=end):
                yield f"{mode} {target}"
                if source is not None and end is not None:
                    yield f"{_STEP}from = {self.expr(source)}"
                    yield f"{_STEP}to = {self.expr(end)}"
                yield from self._assignments(assignments)
            case Update(assignments=assignments, where=where):
                yield f"update {target}"
                yield from self._assignments(assignments)
                yield f"{_STEP}where {self.expr(where)}"
            case Delete(where=where):
                yield f"delete {target}"
                yield f"{_STEP}where {self.expr(where)}"

    def _assignments(self, assignments: tuple[Assignment, ...]) -> Iterator[str]:
        for item in assignments:
            yield f"{_STEP}{self._property(ir.Slot(0), item.prop)} = {self.expr(item.value)}"

    def introduce(self, slot: Column) -> None:
        """Assign a unique name to a slot."""
        type_id = slot.type_id if isinstance(slot, EntitySlot) else ""
        if slot.slot in self._labels and self._slot_types[slot.slot] == type_id:
            return
        taken = slot.name in self._labels.values()
        self._labels[slot.slot] = f"{slot.name}#{slot.slot}" if taken else slot.name
        self._slot_types[slot.slot] = type_id

    # --- blocks --------------------------------------------------------------------------------

    def _block(self, block: Block) -> Iterator[str]:
        for slot in block.slots:
            self.introduce(slot)
        for slot in block.slots:
            yield f"{self._labels[slot.slot]}: {self.type(slot.type_id)}"
        for hop in block.hops:
            yield self.hop(hop)
        for unwind in block.unwinds:
            items = self.expr(unwind.items)
            self.introduce(unwind.item)
            yield f"unwind {items} as {self._labels[unwind.item.slot]}"
        for optional in block.optionals:
            yield "optional"
            yield from (f"{_STEP}{line}" for line in self._block(optional))
        for condition in block.filters:
            yield from f"filter {self.expr(condition)}".splitlines()

    def hop(self, hop: Hop) -> str:
        source, target = self._labels[hop.source], self._labels[hop.target]
        edge = self.type(hop.edge_type)
        if hop.edge_slot is not None:
            edge = f"{self._labels[hop.edge_slot]}: {edge}"
        if (hop.min_hops, hop.max_hops) != (1, 1):
            edge += f" {{{hop.min_hops},{hop.max_hops}}}"
        return f"{source} -[{edge}]{'-' if hop.undirected else '->'} {target}"

    def _braced(self, word: str, block: Block, *folded: ir.Expr | None) -> str:
        lines = [*self._block(block)]
        values = [self.expr(each) for each in folded if each is not None]
        if values:
            lines.append(f"fold {', '.join(values)}")
        inside = "\n".join(f"{_STEP}{line}" for line in lines)
        return f"{word} {{\n{inside}\n}}"

    @staticmethod
    def _indented(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            yield f"{_STEP * 2}{line}"

    # --- expressions ---------------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Call() | ir.Case() | ir.Coalesce() | ir.Quantified():
                return self._call(expr)
            case ir.And() | ir.Or() | ir.Not() | ir.Exists():
                return self._logic(expr)
            case ir.Compare() | ir.StringMatch() | ir.ListContains() | ir.InList() | ir.IsNull():
                return self._test(expr)
            case ir.Aggregate() | ir.BlockAggregate():
                return self._fold(expr)
            case ir.TextMatch() | ir.Score() | ir.RankFusion():
                return self._search(expr)
            case _:
                return self._value(expr)

    def _value(
        self,
        expr: (
            ir.Const
            | ir.ParamRef
            | ir.Now
            | ir.PropertyRef
            | ir.EntityRef
            | ir.ValueRef
            | ir.MakeList
        ),
    ) -> str:
        match expr:
            case ir.Const(value=value):
                return _format_value(value)
            case ir.ParamRef(name=name):
                return f"${name}"
            case ir.Now():
                return "now()"
            case ir.PropertyRef(slot=slot, prop=prop):
                label, name = self._labels[slot], self._property(slot, prop)
                return f"{label}.{name}" if label else name
            case ir.EntityRef(slot=slot) | ir.ValueRef(slot=slot):
                return self._labels[slot]
            case ir.MakeList(items=items):
                return _list([self.expr(item) for item in items])

    def _test(
        self, expr: ir.Compare | ir.StringMatch | ir.ListContains | ir.InList | ir.IsNull
    ) -> str:
        match expr:
            case ir.Compare(op=op, left=left, right=right):
                return f"{self._operand(left)} {op} {self._operand(right)}"
            case ir.StringMatch(op=op, haystack=haystack, needle=needle):
                return f"{self._operand(haystack)} {op} {self._operand(needle)}"
            case ir.ListContains(items=items, item=item):
                return f"{self._operand(items)} has {self._operand(item)}"
            case ir.InList(item=item, options=options):
                return f"{self._operand(item)} in {self._operand(options)}"
            case ir.IsNull(operand=operand, negated=negated):
                return f"{self._operand(operand)} is {'not ' if negated else ''}null"

    def _logic(self, expr: ir.And | ir.Or | ir.Not | ir.Exists) -> str:
        match expr:
            case ir.And(operands=operands):
                return " and ".join(self._operand(operand) for operand in operands)
            case ir.Or(operands=operands):
                return " or ".join(self._operand(operand) for operand in operands)
            case ir.Not(operand=operand):
                return f"not ({self.expr(operand)})"
            case ir.Exists(block=block, negated=negated):
                return self._braced("not exists" if negated else "exists", block)

    def _call(self, expr: ir.Call | ir.Case | ir.Coalesce | ir.Quantified) -> str:
        match expr:
            case ir.Call():
                return self._function(expr)
            case ir.Case(branches=branches, otherwise=otherwise):
                parts = [f"when {self.expr(a)} then {self.expr(b)}" for a, b in branches]
                parts += [] if otherwise is None else [f"else {self.expr(otherwise)}"]
                return f"case {' '.join(parts)} end"
            case ir.Coalesce(args=args):
                return f"coalesce({', '.join(map(self.expr, args))})"
            case ir.Quantified(kind=kind, item=item, items=items, condition=condition):
                self._labels[item.slot] = item.name
                where = self.expr(condition)
                return f"{kind}({item.name} in {self.expr(items)} where {where})"

    def _function(self, call: ir.Call) -> str:
        match call:
            case ir.Call(func=func, args=(left, right)) if func in _INFIX:
                return f"{self._operand(left)} {func} {self._operand(right)}"
            case ir.Call(func=Function.CAST | Function.TRY_CAST as func, args=(operand,)):
                return f"{func}({self.expr(operand)} as {spell_type(call.dtype)})"
            case ir.Call(func=func, args=args):
                return f"{func}({', '.join(map(self.expr, args))})"

    def _fold(self, expr: ir.Aggregate | ir.BlockAggregate) -> str:
        distinct = "distinct " if expr.distinct else ""
        if isinstance(expr, ir.BlockAggregate):
            values = (expr.operand, expr.parameter)
            return self._braced(f"{expr.func} {distinct}".rstrip(), expr.block, *values)
        folded = "*" if expr.operand is None else self.expr(expr.operand)
        folded += "" if expr.parameter is None else f", {self.expr(expr.parameter)}"
        return f"{expr.func}({distinct}{folded})"

    def _search(self, expr: ir.TextMatch | ir.Score | ir.RankFusion) -> str:
        match expr:
            case ir.TextMatch(func=func, target=target, query=query, max_edits=edits):
                last = "" if edits is None else f", edits={self.expr(edits)}"
                return f"{func}({self.expr(target)}, {self.expr(query)}{last})"
            case ir.Score(func=func, target=target, query=query):
                return f"{func}({self.expr(target)}, {self.expr(query)})"
            case ir.RankFusion(scores=scores, k=k):
                fused = ", ".join(self.expr(score) for score in scores)
                return f"rrf({fused}, k={self.expr(k)})"

    def _operand(self, expr: ir.Expr) -> str:
        """Format an operand, in parentheses if it is ambiguous."""
        spelled = self.expr(expr)
        compound = ir.And | ir.Or | ir.Compare | ir.StringMatch | ir.ListContains | ir.InList
        infix = isinstance(expr, ir.Call) and expr.func in _INFIX
        return f"({spelled})" if infix or isinstance(expr, compound) else spelled

    # --- names ---------------------------------------------------------------------------------

    def type(self, type_id: str) -> str:
        return type_id if self._names is None else self._names.types[type_id].name

    def _property(self, slot: ir.Slot, prop: str) -> str:
        if self._names is None:
            return prop
        return self._names.types[self._slot_types[slot]].by_id[prop].name


def _params(params: tuple[ParamSpec, ...]) -> str:
    return ", ".join(
        f"${param.name}: {spell_type(param.dtype, nullable=param.nullable)}" for param in params
    )


def _uses(uses: tuple[TypeUse, ...]) -> str:
    return ", ".join(f"{use.kind} {use.name}" for use in uses)


def _column(column: ResultColumn) -> str:
    kind = column.kind
    if column.item_kind is not None:
        kind += f" of {column.item_kind}"
    if column.vector_dim is not None:
        kind += f"({column.vector_dim})"
    return f"{column.name}: {kind}{'?' if column.nullable else ''}"


def _format_value(value: ir.Value) -> str:
    match value:
        case dt.datetime():
            return f'datetime("{value.isoformat()}")'
        case dt.date():
            return f'date("{value.isoformat()}")'
        case bytes():
            return f"{len(value)} bytes"
        case tuple():
            return _list([_format_value(item) for item in value])
        case _:
            return json.dumps(value, ensure_ascii=False)


def _list(items: list[str]) -> str:
    if len(items) > _ITEMS_SHOWN_MAX:
        return f"[{', '.join(items[:_ITEMS_SHOWN_MAX])}, … {len(items)} items]"
    return f"[{', '.join(items)}]"
