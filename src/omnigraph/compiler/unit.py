"""One query on its way through the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.model import EdgeType, EntityKind, TypeId
from omnigraph.ir.expressions import Slot
from omnigraph.ir.queries import ParamSpec, TypeUse
from omnigraph.language.gq.ast import Mutation

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Query, Traversal

__all__ = ["MAX_FINDINGS", "CompilationUnit", "TooManyDiagnostics"]

# Nobody mends more at once, and looking for suggestions takes time.
MAX_FINDINGS = 50


class TooManyDiagnostics(Exception):
    """The query has as many findings as one report holds."""


class CompilationUnit:
    """The names that a query may use, its diagnostics, and the types that it touches."""

    __slots__ = (
        "_next_slot",
        "_reads",
        "_writes",
        "catalog",
        "depth",
        "findings",
        "hidden",
        "params",
        "reversed_traversals",
    )

    def __init__(self, catalog: Catalog, query: Query) -> None:
        self.catalog = catalog
        self.params = {
            param.name: ParamSpec(param.name, param.dtype, param.nullable) for param in query.params
        }
        self.findings: list[Diagnostic] = []
        # Variables of inner blocks, which nobody outside can read.
        self.hidden: set[str] = set()
        # How deep the expression that is being lowered lies in others.
        self.depth = 0
        # Traversals that the types of their ends direct against how they are written.
        self.reversed_traversals: list[Traversal] = []
        # Mutations look at one entity, in slot 0.
        self._next_slot = 1 if isinstance(query.body, Mutation) else 0
        self._reads: dict[TypeId, TypeUse] = {}
        self._writes: dict[TypeId, TypeUse] = {}

    def report(self, found: Diagnostic) -> None:
        """Records a finding."""
        self.findings.append(found)
        if len(self.findings) >= MAX_FINDINGS:
            raise TooManyDiagnostics

    def fails(self, found: Diagnostic | None) -> bool:
        """Records what a check found, if anything; true when it did."""
        if found is None:
            return False
        self.report(found)
        return True

    def is_edge(self, type_id: str) -> bool:
        """Whether the type is one of edges."""
        return isinstance(self.catalog.types[TypeId(type_id)], EdgeType)

    def new_slot(self) -> Slot:
        """A slot of its own for one more variable."""
        slot = self._next_slot
        self._next_slot += 1
        return Slot(slot)

    # --- what the query touches ----------------------------------------------------------------

    def reads(self, entity: EntityType) -> None:
        """The query may read the type; an edge cannot be followed without its endpoint types."""
        if entity.id in self._reads:
            return
        self._reads[entity.id] = _use(entity)
        if isinstance(entity, EdgeType):
            self.reads(self.catalog.node_by_id(entity.source))
            self.reads(self.catalog.node_by_id(entity.target))

    def writes(self, entity: EntityType) -> None:
        """The query may change entities of the type, and looks at those that are there."""
        self._reads.setdefault(entity.id, _use(entity))
        self._writes.setdefault(entity.id, _use(entity))

    def read_set(self) -> tuple[TypeUse, ...]:
        return tuple(sorted(self._reads.values(), key=_nodes_first))

    def write_set(self) -> tuple[TypeUse, ...]:
        return tuple(sorted(self._writes.values(), key=_nodes_first))


def _use(entity: EntityType) -> TypeUse:
    return TypeUse(entity.kind.value, entity.id, entity.name)


def _nodes_first(use: TypeUse) -> tuple[bool, str]:
    return (use.kind != EntityKind.NODE.value, use.name)
