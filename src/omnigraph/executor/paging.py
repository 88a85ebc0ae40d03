"""Offset and limit of a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from omnigraph.errors import InvalidInput
from omnigraph.ir.expressions import Const, ParamRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ir.expressions import Expr, Value

__all__ = ["row_count"]


def row_count(clause: str, expr: Expr | None, params: Mapping[str, Value]) -> int | None:
    """The number of rows of ``limit`` or ``offset``; None without it."""
    match expr:
        case Const(value=value):
            count = value
        case ParamRef(name=name):
            count = params[name]
        case _:
            return None
    if isinstance(count, int) and count < 0:
        raise InvalidInput(
            f"query.negative_{clause}", f"{clause} is {count}", remedy="use 0 or more"
        )
    return cast("int | None", count)
