"""Embeds the entities of a graph that have a text and no vector.

Each chunk is an ordinary load with mode ``merge``, on the condition that the branch has not moved
since the texts were read: a vector never meets a text that it is not of. A run that was interrupted
continues, because only missing vectors are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from omnigraph.api.names import MAIN
from omnigraph.catalog.model import EdgeType
from omnigraph.errors import InvalidInput, PreconditionFailed, Unsupported
from omnigraph.frozen import frozen
from omnigraph.graph.open import require_embedder
from omnigraph.ports.embeddings import EmbeddingTask
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from omnigraph.api.graph import Graph
    from omnigraph.catalog.model import Catalog, EntityType, Property
    from omnigraph.datatypes.types import VectorType
    from omnigraph.graph.open import EmbedderSource
    from omnigraph.ports.embeddings import Embedder

__all__ = ["GraphEmbedProgress", "GraphEmbedResult", "embed"]

_CHUNK_ROWS = 1_024
# How often a chunk is read again because other writers were faster.
_RETRIES_MAX = 20


@frozen
class GraphEmbedProgress:
    """The state of a run: entities embedded so far, and those that lacked a vector at its start."""

    embedded: int
    total: int
    seconds: float

    def line(self) -> str:
        rate = self.embedded / self.seconds if self.seconds else 0.0
        left = (self.total - self.embedded) / rate if rate else 0.0
        return f"{self.embedded:,} of {self.total:,} embedded, {rate:,.0f}/s, {left:,.0f} s left"


@frozen
class GraphEmbedResult:
    """Entities that got a vector, by ``Type.property``, and the commits that published them."""

    branch: str
    embedded: dict[str, int]
    commits: tuple[str, ...]

    @property
    def total(self) -> int:
        return sum(self.embedded.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "embedded": dict(self.embedded),
            "embedded_records": self.total,
            "commits": list(self.commits),
        }


_Watch = Callable[[GraphEmbedProgress], None]


def embed(  # noqa: PLR0913 - the options of a public call
    graph: Graph,
    *,
    types: Sequence[str] = (),
    branch: str = MAIN,
    embedder: EmbedderSource = None,
    actor: str | None = None,
    chunk_rows: int = _CHUNK_ROWS,
    progress: _Watch | None = None,
) -> GraphEmbedResult:
    """Fill the missing vectors of ``@embed`` properties; one commit per chunk.

    The provider is ``embedder``, or that of the environment of this process, for a remote graph as
    well. An entity without a text keeps no vector. ``types`` restricts the node types.
    """
    run = _Run(graph, branch, require_embedder(embedder), actor, chunk_rows)
    targets = list(_targets(graph.at(branch).catalog, types))
    run.total = sum(run.count_missing(*target) for target in targets)
    for entity, prop, source in targets:
        run.fill(entity, prop, source, progress)
    return GraphEmbedResult(branch, run.embedded, tuple(run.commits))


def _targets(
    catalog: Catalog, types: Sequence[str]
) -> Iterator[tuple[EntityType, Property, Property]]:
    """Yield node types with each vector property and its source."""
    known = {entity.name for entity in catalog.types.values()}
    for name in types:
        if name not in known:
            raise InvalidInput(
                "embed.unknown_type",
                f"the graph has no type {name!r}",
                remedy="omnigraph schema show lists the types",
            )
    for entity in catalog.types.values():
        if types and entity.name not in types:
            continue
        for prop in entity.properties:
            declared = prop.annotations.get("embed")
            if declared:
                _require_node(entity, named=bool(types))
                if not isinstance(entity, EdgeType):
                    yield entity, prop, entity.by_name[str(declared[0])]


def _require_node(entity: EntityType, *, named: bool) -> None:
    if named and isinstance(entity, EdgeType):
        raise Unsupported(
            "embed.edges",
            f"{entity.name} is an edge type, and only nodes are embedded in a graph",
            remedy="embed its records with --input and --output, and load them with mode merge",
        )


class _Run:
    def __init__(
        self, graph: Graph, branch: str, embedder: Embedder, actor: str | None, chunk_rows: int
    ) -> None:
        self.total = 0
        self.embedded: dict[str, int] = {}
        self.commits: list[str] = []
        self._graph = graph
        self._branch = branch
        self._embedder = embedder
        self._actor = actor
        self._chunk_rows = chunk_rows
        self._started = SYSTEM_CLOCK.monotonic()

    def count_missing(self, entity: EntityType, prop: Property, source: Property) -> int:
        query = f"query q() {{ {_missing(entity, prop, source)} return {{ count($n) as n }} }}"
        return int(self._graph.at(self._branch).query(query).rows()[0]["n"])

    def fill(
        self, entity: EntityType, prop: Property, source: Property, progress: _Watch | None
    ) -> None:
        place = f"{entity.name}.{prop.name}"
        after = ""
        while (last := self._fill_chunk(entity, prop, source, after, place)) is not None:
            after = last
            if progress is not None:
                done = sum(self.embedded.values())
                seconds = SYSTEM_CLOCK.monotonic() - self._started
                progress(GraphEmbedProgress(done, max(done, self.total), seconds))

    def _fill_chunk(
        self, entity: EntityType, prop: Property, source: Property, after: str, place: str
    ) -> str | None:
        """Embed and load the next rows; return the id of the last one, or None at the end."""
        made: dict[str, Sequence[float]] = {}
        for attempt in range(_RETRIES_MAX):
            head = str(self._graph.at(self._branch).snapshot()["graph_commit_id"])
            rows = self._read(entity, prop, source, after, head)
            if not rows:
                return None
            filled = [row for row in rows if row["text"].strip()]
            self._add_vectors(made, [row["text"] for row in filled], prop)
            if not filled:
                return str(rows[-1]["id"])
            try:
                self._load(entity, prop, filled, made, head)
            except PreconditionFailed:
                # Another writer was faster; texts that it did not change keep their vectors.
                if attempt == _RETRIES_MAX - 1:
                    raise
            else:
                self.embedded[place] = self.embedded.get(place, 0) + len(filled)
                return str(rows[-1]["id"])
        return None

    def _read(
        self, entity: EntityType, prop: Property, source: Property, after: str, head: str
    ) -> list[dict[str, Any]]:
        keys = _key_names(entity)
        columns = ", ".join(f"$n.{name} as key{at}" for at, name in enumerate(keys))
        query = (
            f"query q($after: String) {{ {_missing(entity, prop, source, '$n.id > $after')} "
            f"return {{ $n.id as id, $n.{source.name} as text{', ' if keys else ''}{columns} }} "
            f"order {{ id }} limit {self._chunk_rows} }}"
        )
        return list(self._graph.at(head).query(query, {"after": after}).rows())

    def _add_vectors(
        self, made: dict[str, Sequence[float]], texts: Iterable[str], prop: Property
    ) -> None:
        missing = list(dict.fromkeys(text for text in texts if text not in made))
        if missing:
            model = prop.annotations.keyword("embed", "model")
            vectors = self._embedder.embed(
                missing,
                model=None if model is None else str(model),
                dim=cast("VectorType", prop.dtype).dim,
                task=EmbeddingTask.DOCUMENT,
            )
            made.update(zip(missing, vectors, strict=True))

    def _load(
        self,
        entity: EntityType,
        prop: Property,
        rows: list[dict[str, Any]],
        made: dict[str, Sequence[float]],
        head: str,
    ) -> None:
        keys = _key_names(entity)
        records = [
            {
                "type": entity.name,
                "data": {
                    **(
                        {name: row[f"key{at}"] for at, name in enumerate(keys)} or {"id": row["id"]}
                    ),
                    prop.name: list(made[row["text"]]),
                },
            }
            for row in rows
        ]
        loaded = self._graph.load(
            records,
            mode="merge",
            branch=self._branch,
            actor=self._actor,
            message=f"embed {entity.name}.{prop.name}",
            if_commit=head,
        )
        if loaded.commit is not None:
            self.commits.append(loaded.commit.id)


def _missing(entity: EntityType, prop: Property, source: Property, more: str = "") -> str:
    conditions = f"$n.{prop.name} is null $n.{source.name} is not null {more}"
    return f"match {{ $n: {entity.name} {conditions} }}"


def _key_names(entity: EntityType) -> list[str]:
    return [entity.by_id[key].name for key in entity.key or ()]
