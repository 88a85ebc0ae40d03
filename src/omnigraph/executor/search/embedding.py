"""Query vectors of texts, by the model that a property declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from omnigraph.errors import StorageFault
from omnigraph.ports.embeddings import EmbeddingTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import Catalog, PropertyId, TypeId
    from omnigraph.datatypes.types import VectorType
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.semantics.search import Embed

__all__ = ["embed_with"]


def embed_with(embedder: Embedder | None, catalog: Catalog) -> Embed | None:
    """Return a function from a text to a query vector of a property; None without a provider.

    Each text is embedded once per model and dimension in the life of the function, a query.
    """
    if embedder is None:
        return None
    made: dict[tuple[str, str | None, int], Sequence[float]] = {}

    def embed(text: str, type_id: TypeId, prop_id: PropertyId) -> Sequence[float]:
        prop = catalog.types[type_id].by_id[prop_id]
        declared = prop.annotations.keyword("embed", "model")
        model = None if declared is None else str(declared)
        dim = cast("VectorType", prop.dtype).dim
        key = (text, model, dim)
        if key not in made:
            found = embedder.embed([text], model=model, dim=dim, task=EmbeddingTask.QUERY)
            if len(found) != 1:
                raise StorageFault(
                    "embed.answer", f"the provider made {len(found)} vectors of one text"
                )
            made[key] = found[0]
        return made[key]

    return embed
