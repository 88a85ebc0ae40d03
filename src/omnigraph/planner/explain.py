"""A plan for people and programs: what each operator does, reads and expects, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from omnigraph.api.queries import ExplainedOperator, format_count
from omnigraph.catalog.model import PropertyId
from omnigraph.ir.expressions import Score, TextMatch, ValueSlot
from omnigraph.ir.printer import Speller
from omnigraph.ir.queries import EntitySlot
from omnigraph.ir.walk import nodes, slots_read
from omnigraph.planner import plan as plans
from omnigraph.planner.indexable import answered_by
from omnigraph.planner.plan import Access, inputs, walk
from omnigraph.planner.pushable import can_push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from omnigraph.catalog.model import EdgeType
    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.ir.queries import Hop
    from omnigraph.planner.access import AccessChoice, Memory
    from omnigraph.planner.plan import Node, Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["explain", "with_measures"]

# The meaning of bounds; the page of the query language has an example.
_BY_DISTANCE = "by distance: each destination once per source, at its shortest depth"


def explain(
    plan: Plan, facts: PlannerStatistics, choice: AccessChoice, memory: Memory
) -> ExplainedOperator:
    """The plan as it would run now."""
    slots = [each for each in nodes(plan.ir) if isinstance(each, EntitySlot | ValueSlot)]
    explainer = _Explainer(plan, facts, choice, memory, Speller(slots, facts.catalog))
    return explainer.explain(plan.root)


def with_measures(
    explained: ExplainedOperator, node: Node, measured: Callable[[Node], Mapping[str, float] | None]
) -> ExplainedOperator:
    """An explained plan with the measurements of each operator."""
    below = zip(explained.inputs, inputs(node), strict=True)
    return replace(
        explained,
        measured=measured(node),
        inputs=tuple(with_measures(each, its_node, measured) for each, its_node in below),
    )


class _Explainer:
    def __init__(
        self,
        plan: Plan,
        facts: PlannerStatistics,
        choice: AccessChoice,
        memory: Memory,
        spell: Speller,
    ) -> None:
        self._plan = plan
        self._facts = facts
        self._choice = choice
        self._memory = memory
        self._spell = spell

    def explain(self, node: Node) -> ExplainedOperator:
        title, notes = self._describe(node)
        below = tuple(self.explain(each) for each in inputs(node))
        return ExplainedOperator(type(node).__name__, title, node.rows, notes, inputs=below)

    def _describe(self, node: Node) -> tuple[str, dict[str, Any]]:
        match node:
            case plans.Scan():
                return self._scan(node)
            case plans.Expand() | plans.EdgeEnds():
                return self._hop(node)
            case plans.Return(projections=projections):
                names = ", ".join(projection.name for projection in projections)
                notes = {"access": self._choice.access.source, "because": self._choice.why}
                return names, notes
            case plans.Group() | plans.MetadataCount() | plans.Sort() | plans.Limit():
                return self._folded(node), {}
            case plans.Filter(conditions=searched):
                return self._combined(node), self._searches(searched)
            case plans.Scores(scores=searched, first=first):
                best = first if node.ranks_all else None
                return self._combined(node), self._searches(searched, best)
            case plans.Product(parts=parts):
                return self._product(parts)
            case _:
                return self._table(node) or self._combined(node), {}

    # --- ways into a table ---

    def _scan(self, node: plans.Scan) -> tuple[str, dict[str, Any]]:
        type_id = node.slot.type_id
        title = f"{self._spell.slot(node.slot.slot)}: {self._spell.type(type_id)}"
        if node.counted:
            return title, {"counts": "from the pin"}
        notes: dict[str, Any] = {"columns": self._columns(type_id)}
        if node.ids is not None:
            title += f" by id {self._spell.expr(node.ids)}"
        if node.filters:
            title += f" where {self._all(node.filters)}"
            notes["pushed"] = [
                self._spell.expr(each) for each in node.filters if self._pushes(each)
            ]
            notes["tested here"] = [
                self._spell.expr(each) for each in node.filters if not self._pushes(each)
            ]
        notes["index"] = self._index(node)
        return title, notes | self._searches(node.filters)

    def _searches(self, exprs: Sequence[Expr], best: Expr | None = None) -> dict[str, Any]:
        """Through which index each search would find its rows, or why through none. ``best`` is
        the score of which only the best of all rows are wanted."""
        found = {
            self._spell.expr(part): self._memory.how_searched(
                self._plan.types[part.target.slot], part, of_all=part is best
            )
            for expr in exprs
            for part in nodes(expr)
            if isinstance(part, TextMatch | Score)
        }
        return {"search": [f"{text}: {how}" for text, how in found.items()]} if found else {}

    def _index(self, node: plans.Scan) -> str:
        type_id = node.slot.type_id
        if self._choice.access is Access.RESIDENT:
            return "ids in memory" if node.ids is not None else "none: whole columns in memory"
        by_id = ("@id",) if node.ids is not None else ()
        pushed = [condition for condition in node.filters if self._pushes(condition)]

        def answering(has_index: Callable[[str], bool]) -> list[str]:
            found = [prop for prop in by_id if has_index(prop)]
            for condition in pushed:
                found += answered_by(condition, has_index)
            return found

        used = answering(lambda prop: self._memory.has_index(type_id, prop))
        if used:
            return "on " + self._names(type_id, used)
        lacking = [
            prop for prop in answering(lambda _: True) if not self._memory.has_index(type_id, prop)
        ]
        return f"none on {self._names(type_id, lacking)}" if lacking else "none: all rows are read"

    def _pushes(self, condition: Expr) -> bool:
        return self._choice.access is Access.LOOKED_UP and can_push(condition)

    def _hop(self, node: plans.Expand | plans.EdgeEnds) -> tuple[str, dict[str, Any]]:
        title = self._spell.hop(node.hop)
        if isinstance(node, plans.EdgeEnds):
            return f"ends of {title}", self._semantics(node.hop)
        title += f" from {self._spell.slot(node.start)}"
        title += f", which must lead to {self._spell.slot(node.end)}" if node.closes else ""
        notes = {"mode": self._choice.access.value, **self._semantics(node.hop)}
        if node.keeps is not None:
            kept = ", ".join(self._spell.slot(slot) for slot in node.keeps) or "nothing"
            notes["counts" if node.counted else "keeps"] = (
                f"{kept}{', each once' if node.distinct else ''}"
            )
        if self._choice.access is Access.LOOKED_UP:
            end = "@src" if node.start == node.hop.source else "@dst"
            found = self._memory.has_index(node.hop.edge_type, end)
            notes["index"] = f"{'on' if found else 'none on'} {end.removeprefix('@')}"
        else:
            ready = self._memory.has_topology(node.hop.edge_type)
            notes["topology"] = "in memory" if ready else "to be built"
        return title, notes

    def _semantics(self, hop: Hop) -> dict[str, Any]:
        """The direction of the edge and how it was chosen, and how hops are counted."""
        edge = cast("EdgeType", self._facts.entity(hop.edge_type))
        first, last = (self._spell.type(end) for end in (edge.source, edge.target))
        if hop.undirected:
            direction = f"{first} - {last}, either way"
        elif hop.reversed:
            direction = f"{first} -> {last}, by the types of its ends; written in reverse"
        else:
            direction = f"{first} -> {last}, as written"
        if (hop.min_hops, hop.max_hops) == (1, 1):
            return {"direction": direction}
        bounds = f"{hop.min_hops} to {hop.max_hops}"
        return {"direction": direction, "hops": f"{bounds}, {_BY_DISTANCE}"}

    # --- the rest ---

    def _product(self, parts: Sequence[Node]) -> tuple[str, dict[str, Any]]:
        """The components of a product with their slots and rows."""
        names = [self._slots(sorted(_slots_below(part))) for part in parts]
        counts = [
            f"{name}: ~{format_count(part.rows)} rows"
            for name, part in zip(names, parts, strict=True)
        ]
        return " x ".join(f"({name})" for name in names), {"factorised": counts}

    def _combined(self, node: Node) -> str:
        match node:
            case plans.Filter(conditions=conditions):
                return self._all(conditions)
            case plans.Join(equal=equal):
                pairs = [f"{self._spell.expr(a)} = {self._spell.expr(b)}" for a, b in equal]
                return " and ".join(pairs) or "every pair"
            case plans.SemiJoin(slots=slots, anti=anti):
                return f"rows that {'have no' if anti else 'have a'} match of {self._slots(slots)}"
            case plans.Apply(expr=expr):
                return self._spell.expr(expr)
            case plans.Project(slots=slots, distinct=distinct):
                return f"{self._slots(slots)}{', each once' if distinct else ''}"
            case plans.Scores(scores=scores):
                return ", ".join(self._spell.expr(score) for score in scores)
            case plans.Values(slots=slots):
                return self._slots(slots)
            case _:
                return ""

    def _table(self, node: Node) -> str:
        match node:
            case plans.Bind(outputs=outputs):
                return ", ".join(each.name for each in outputs)
            case plans.UnionRows(outputs=outputs, distinct=distinct):
                return ", ".join(each.name for each in outputs) + ", each once" * distinct
            case plans.OptionalRows(slots=slots, binds=binds):
                return f"{self._slots(binds)} for {self._slots(slots)}, or NULL"
            case plans.UnwindRows(item=item, items=items):
                return f"{item.name} of {self._spell.expr(items)}"
            case _:
                return ""

    def _folded(self, node: plans.Group | plans.MetadataCount | plans.Sort | plans.Limit) -> str:
        match node:
            case plans.Group(keys=keys, folds=folds):
                by = ", ".join(self._spell.expr(key) for key in keys)
                made = ", ".join(self._spell.expr(fold) for fold in folds)
                return " ".join(part for part in (made, f"by {by}" if by else "") if part)
            case plans.MetadataCount(type_id=type_id):
                return f"{self._spell.type(type_id)}, from the pin"
            case plans.Sort(keys=keys, ties=ties, top=top):
                order = [self._spell.expr(key.expr) + " desc" * key.descending for key in keys]
                order += [f"{self._spell.slot(slot)}.id" for slot in ties]
                first = "" if top is None else f", the first {self._counts(top)}"
                return ", ".join(order) + first
            case plans.Limit(offset=offset, limit=limit):
                skip = "" if offset is None else f" after {self._spell.expr(offset)}"
                return ("all" if limit is None else self._spell.expr(limit)) + skip

    def _counts(self, top: Sequence[Expr]) -> str:
        return " + ".join(self._spell.expr(count) for count in top)

    def _all(self, conditions: Sequence[Expr]) -> str:
        return " and ".join(self._spell.expr(condition) for condition in conditions)

    def _slots(self, slots: Sequence[Any]) -> str:
        return ", ".join(self._spell.slot(slot) for slot in slots) or "one row"

    def _columns(self, type_id: str) -> list[str]:
        reading = (self._plan.readings or {}).get(type_id)
        props = () if reading is None else (*reading.early, *reading.late)
        return [self._name(type_id, prop) for prop in dict.fromkeys(props)]

    def _names(self, type_id: str, props: Iterable[str]) -> str:
        return ", ".join(self._name(type_id, prop) for prop in dict.fromkeys(props))

    def _name(self, type_id: str, prop: str) -> str:
        return self._facts.entity(type_id).by_id[PropertyId(prop)].name


def _slots_below(part: Node) -> set[Slot]:
    """The slots of a component, those included that nothing above it needs."""
    found: set[Slot] = set()
    for node in walk(part):
        match node:
            case plans.Scan(slot):
                found.add(slot.slot)
            case plans.Expand(hop=hop) | plans.EdgeEnds(hop=hop):
                found |= slots_read(hop)
            case plans.Values(slots):
                found.update(slots)
            case _:
                pass
    return found
