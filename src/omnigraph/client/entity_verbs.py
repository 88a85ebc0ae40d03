"""The verbs that take entities as they are stored: tables, a NetworkX graph, blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.entities import Blob
from omnigraph.api.names import MAIN
from omnigraph.api.networkx import build_networkx, wanted_types
from omnigraph.api.targets import is_branch_target, target_text
from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import EntityKind
from omnigraph.client.requests import Steps, get, path_of
from omnigraph.client.results import spool
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    import networkx as nx

    from omnigraph.api.targets import Target
    from omnigraph.catalog.model import Catalog, EntityType

__all__ = ["EntityVerbs", "place_of"]


def place_of(target: Target) -> dict[str, str]:
    """A target as requests name it."""
    text = target_text(target)
    return {"branch" if is_branch_target(text) else "snapshot": text}


@frozen
class _Held:
    """A blob that came whole."""

    data: bytes
    tag: str

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, length: int) -> bytes:
        return self.data[start : start + length]


class EntityVerbs:
    """What is read by type and by id, at one target."""

    def __init__(self, target: Target = MAIN) -> None:
        self._target = target_text(target)

    def schema(self) -> Steps[str]:
        """The schema at this target, as ``.pg``."""
        return str((yield get("/schema", **place_of(self._target))).body["schema_source"])

    def catalog(self) -> Steps[Catalog]:
        """The schema at this target, built from its text: its ids are not those of the graph."""
        source = Source((yield from self.schema()), "<schema>")
        return build_catalog(parse_schema(source), source)

    def nodes(self, type: str) -> Steps[pa.Table]:  # noqa: A002 - the words of the graph
        """All nodes of a type as one Arrow table: ``id``, then the properties."""
        return (yield from _table(self._target, EntityKind.NODE, type))

    def edges(self, type: str) -> Steps[pa.Table]:  # noqa: A002
        """All edges of a type as one Arrow table: ``id``, ``src``, ``dst``, then the properties."""
        return (yield from _table(self._target, EntityKind.EDGE, type))

    def to_networkx(self, *types: str) -> Steps[nx.MultiDiGraph]:
        """The graph, or some types of it, for NetworkX: nodes are ``(type, id)``, properties are
        attributes. Edges come with the nodes at their ends."""
        # One commit, whatever happens to the branch meanwhile.
        commit = (yield get("/snapshot", **place_of(self._target))).body["graph_commit_id"]
        catalog = yield from EntityVerbs(commit).catalog()
        tables: dict[str, pa.Table] = {}
        for entity in wanted_types(catalog, types):
            tables[entity.name] = yield from _table(commit, entity.kind, entity.name)

        def rows(entity: EntityType) -> list[dict[str, Any]]:
            return list(tables[entity.name].to_pylist())

        return build_networkx(catalog, types, rows)

    def blob(
        self,
        type: str,  # noqa: A002
        id: str,  # noqa: A002
        property: str,  # noqa: A002
        *,
        kind: str | None = None,
    ) -> Steps[Blob]:
        """One blob, whole."""
        if kind is None:
            entity = (yield from self.catalog()).entity(type)
            # A type that is not there is told by the server, in its words.
            kind = "node" if entity is None else entity.kind.value
        held = spool()
        place = place_of(self._target)
        said = get("/blob", entity=kind, type=type, id=id, property=property, **place)
        answer = yield said.into(held.write)
        held.seek(0)
        tag = answer.headers["etag"].strip('"')
        return Blob(_Held(held.read(), tag), answer.headers["omnigraph-graph-commit"])


def _table(target: str, kind: EntityKind, name: str) -> Steps[pa.Table]:
    held = spool()
    yield get(f"/entities{path_of(kind.value, name)}", **place_of(target)).into(held.write)
    held.seek(0)
    return pa.ipc.open_stream(held).read_all()
