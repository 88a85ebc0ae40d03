"""Parameters: from what a caller passes to typed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import spell_type
from omnigraph.datatypes.values import Value, ValueProblem, coerce_json
from omnigraph.errors import TypeFailure
from omnigraph.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ir.queries import ParamSpec, QueryIR

__all__ = ["bind_params"]

MISSING = "param.missing"
UNKNOWN = "param.unknown"
WRONG = "param.type"
SEVERAL = "param.invalid"


def bind_params(ir: QueryIR, given: Mapping[str, Any]) -> dict[str, Value]:
    """A value for every declared parameter; an optional one that is not given is null.

    Names may be given with or without ``$``. All that is wrong is named in one ``TypeFailure``.
    """
    named = _named(ir, given)
    values: dict[str, Value] = {}
    problems: list[dict[str, str]] = []
    for spec in ir.params:
        if spec.name not in named:
            if spec.nullable:
                values[spec.name] = None
            else:
                problems.append(_missing(spec))
            continue
        try:
            given_value = _plain(named[spec.name])
            values[spec.name] = coerce_json(given_value, spec.dtype, nullable=spec.nullable)
        except ValueProblem as problem:
            problems.append(_wrong(spec, problem))
    problems += _unknown(ir, named)
    if problems:
        raise _failure(ir, problems)
    return values


def _named(ir: QueryIR, given: object) -> dict[str, Any]:
    """The values by name. A value that was read from JSON may be anything."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeFailure(
            WRONG,
            f"the parameters of query `{ir.name}` are not an object of names and values",
            details={"query": ir.name, "problems": []},
            remedy='pass them by name: `{"name": "Ada"}`',
        )
    return {name.removeprefix("$"): value for name, value in given.items()}


def _plain(value: Any) -> Any:
    """A cell of an array or a data frame as the value of Python that it holds."""
    return value.item() if getattr(value, "shape", None) == () else value


def _missing(spec: ParamSpec) -> dict[str, str]:
    return {
        "code": MISSING,
        "param": spec.name,
        "message": f"`${spec.name}: {spell_type(spec.dtype)}` is missing",
    }


def _wrong(spec: ParamSpec, problem: ValueProblem) -> dict[str, str]:
    expected = spell_type(spec.dtype, nullable=spec.nullable)
    return {
        "code": WRONG,
        "param": spec.name,
        "message": f"`${spec.name}: {expected}`: {problem.message}",
    }


def _unknown(ir: QueryIR, named: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    declared = [spec.name for spec in ir.params]
    for name in named:
        if name not in declared:
            found = {
                "code": UNKNOWN,
                "param": name,
                "message": f"`${name}` is not a parameter of query `{ir.name}`",
            }
            remedy = did_you_mean(name, declared)
            yield found | {"remedy": remedy} if remedy else found


def _failure(ir: QueryIR, problems: list[dict[str, str]]) -> TypeFailure:
    codes = {problem["code"] for problem in problems}
    spelled = ", ".join(
        f"${spec.name}: {spell_type(spec.dtype, nullable=spec.nullable)}" for spec in ir.params
    )
    hints = [problem["remedy"] for problem in problems if "remedy" in problem]
    return TypeFailure(
        codes.pop() if len(codes) == 1 else SEVERAL,
        "; ".join(problem["message"] for problem in problems),
        details={"query": ir.name, "problems": problems},
        remedy="; ".join(hints) or f"the query is declared as {ir.name}({spelled})",
    )
