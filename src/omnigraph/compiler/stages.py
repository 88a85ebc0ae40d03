"""Stages of a read: each extends the rows of the one before, and only its columns survive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.compiler.columns import column_name
from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.patterns import lower_block, outermost_scope
from omnigraph.compiler.returns import (
    lower_having,
    lower_order,
    lower_returns,
    lower_row_count,
)
from omnigraph.compiler.rules import pattern_variable, stage_column, union_columns
from omnigraph.compiler.rules.comparison import is_text
from omnigraph.compiler.scope import ScopedVariable
from omnigraph.datatypes.types import STRING, EnumType
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import Block, EntitySlot, Projection, Stage, Union
from omnigraph.ir.walk import nodes
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from omnigraph.compiler.scope import PatternScope
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir.queries import Column
    from omnigraph.language.source import Span

__all__ = ["lower_read"]


def lower_read(unit: CompilationUnit, body: ast.Read | ast.UnionRead) -> Stage:
    """The last stage of a read; those before are its source."""
    if isinstance(body, ast.Read):
        return _lower_stage(unit, body)[0]
    return _lower_union(unit, body)


def _lower_stage(unit: CompilationUnit, read: ast.Read) -> tuple[Stage, ast.Read]:
    """A stage, and its syntax with every column."""
    scope = outermost_scope(unit)
    source = None
    if read.source is not None:
        stage, before = _lower_stage(unit, read.source)
        source = _with_outputs(unit, before, stage)
        _bind_columns(scope, source)
    match = lower_block(scope, read.match, source)
    read = _with_columns(scope, read)
    if read.source is None and not scope.variables and not match.slots:
        unit.report(pattern_variable.nothing_bound(read.span))
    returns = lower_returns(scope, read)
    stage = Stage(
        match=match,
        returns=returns,
        distinct=read.distinct,
        having=lower_having(scope, read, returns),
        order=lower_order(scope, read, returns),
        limit=lower_row_count(scope, "limit", read.limit),
        offset=lower_row_count(scope, "offset", read.offset),
        outputs=(),
    )
    return stage, read


# --- columns as variables ----------------------------------------------------------------------


def _with_columns(scope: PatternScope, read: ast.Read) -> ast.Read:
    """The read with every variable of the pattern instead of ``*``, in the order of the text."""
    if not any(isinstance(node.expr, ast.Star) for node in read.returns):
        return read
    returns: list[ast.Projection] = []
    for node in read.returns:
        if not isinstance(node.expr, ast.Star):
            returns.append(node)
            continue
        ordered = sorted(scope.variables.values(), key=lambda each: each.slot)
        named = (ast.Variable(each.name, node.span) for each in ordered)
        returns += (ast.Projection(each, None, node.span) for each in named)
    return replace(read, returns=tuple(returns))


def _with_outputs(unit: CompilationUnit, read: ast.Read, stage: Stage) -> Stage:
    """The stage with a slot for each column; columns without a name were reported."""
    spans = {node.alias or column_name(node.expr): node for node in read.returns}
    for name, node in spans.items():
        if node.alias is None and not isinstance(node.expr, ast.Variable):
            unit.report(stage_column.unnamed(node.span))
        elif name in unit.params:
            unit.report(stage_column.parameter(name, node.span))
    for projection in stage.returns:
        _check_column(unit, projection, spans[projection.name].span)
    outputs = tuple(_output(unit, projection) for projection in stage.returns)
    return _replace_outputs(stage, outputs)


def _check_column(unit: CompilationUnit, projection: Projection, span: Span) -> None:
    if any(isinstance(each, ir.Score | ir.RankFusion) for each in nodes(projection.expr)):
        unit.report(stage_column.no_column(TypedOperand(projection.expr, span)))


def _output(unit: CompilationUnit, projection: Projection) -> Column:
    slot, expr = unit.new_slot(), projection.expr
    if isinstance(expr, ir.EntityRef):
        return EntitySlot(slot, expr.type_id, projection.name, expr.nullable)
    dtype = ir.type_of(expr) or STRING
    held = STRING if isinstance(dtype, EnumType) else dtype
    return ir.ValueSlot(slot, held, ir.is_nullable(expr), projection.name)


def _replace_outputs(stage: Stage, outputs: tuple[Column, ...]) -> Stage:
    return Stage(
        stage.match,
        stage.returns,
        stage.distinct,
        stage.having,
        stage.order,
        stage.limit,
        stage.offset,
        outputs,
    )


def _bind_columns(scope: PatternScope, source: Stage) -> None:
    for output in source.outputs:
        variable = ScopedVariable(output.name, output.slot)
        if isinstance(output, EntitySlot):
            variable.entity = scope.unit.catalog.types[output.type_id]  # type: ignore[index]
            variable.is_edge = scope.unit.is_edge(output.type_id)
            variable.optional = output.nullable
        else:
            variable.value = output
        scope.variables[output.name] = variable


# --- unions ------------------------------------------------------------------------------------


def _lower_union(unit: CompilationUnit, body: ast.UnionRead) -> Stage:
    """The rows of all parts, ordered by their columns."""
    pairs = [_lower_stage(unit, part) for part in body.parts]
    stages = [stage for stage, _ in pairs]
    first = stages[0]
    for stage, part in pairs[1:]:
        _check_like(unit, first, stage, part)
    outputs = tuple(_union_output(unit, stages, place) for place in range(len(first.returns)))
    parts = tuple(
        _replace_outputs(stage, tuple(_output(unit, each) for each in stage.returns))
        for stage in stages
    )
    source = Union(parts, not body.all, outputs)
    returns = tuple(Projection(each.name, _reference(each)) for each in outputs)
    block = Block((), (), (), source)
    return Stage(block, returns, False, None, (), None, None, ())  # noqa: FBT003 - as its fields are


def _union_output(unit: CompilationUnit, stages: list[Stage], place: int) -> Column:
    """A column of the union; it may be NULL if it may be in some part."""
    output = _output(unit, stages[0].returns[place])
    columns = [stage.returns[place] for stage in stages if place < len(stage.returns)]
    nullable = any(ir.is_nullable(each.expr) for each in columns)
    if isinstance(output, EntitySlot):
        return EntitySlot(output.slot, output.type_id, output.name, nullable)
    return ir.ValueSlot(output.slot, output.dtype, nullable, output.name)


def _reference(output: Column) -> ir.Expr:
    if isinstance(output, EntitySlot):
        return ir.EntityRef(output.slot, output.type_id, output.nullable)
    return ir.ValueRef(output.slot, output.dtype, output.nullable)


def _check_like(unit: CompilationUnit, first: Stage, stage: Stage, part: ast.Read) -> None:
    names = [[each.name for each in one.returns] for one in (first, stage)]
    if names[0] != names[1]:
        expected, found = (", ".join(f"`{name}`" for name in some) for some in names)
        unit.report(union_columns.other_names(expected, found, part.span))
        return
    for one, other, node in zip(first.returns, stage.returns, part.returns, strict=False):
        wanted, given = (TypedOperand(each.expr, node.span) for each in (one, other))
        if not _is_like(wanted, given):
            types = (describe(wanted), describe(given))
            unit.report(union_columns.other_type(one.name, *types, node.span))


def _is_like(one: TypedOperand, other: TypedOperand) -> bool:
    if isinstance(one.expr, ir.EntityRef) and isinstance(other.expr, ir.EntityRef):
        return one.expr.type_id == other.expr.type_id
    return one.dtype == other.dtype or (is_text(one.dtype) and is_text(other.dtype))
