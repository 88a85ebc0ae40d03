"""Query vectors of texts: which model a property asks for, and asking for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import Catalog, PropertyId, TypeId
    from omnigraph.datatypes.types import VectorType
    from omnigraph.ports.embeddings import Embedder
    from omnigraph.semantics.search import Embed

__all__ = ["embed_with"]


def embed_with(embedder: Embedder | None, catalog: Catalog) -> Embed | None:
    """How a text becomes a vector of a property; None without a provider."""
    if embedder is None:
        return None

    def embed(text: str, type_id: TypeId, prop_id: PropertyId) -> Sequence[float]:
        prop = catalog.types[type_id].by_id[prop_id]
        model = prop.annotations.keyword("embed", "model")
        dim = cast("VectorType", prop.dtype).dim
        found = embedder.embed([text], model=None if model is None else str(model), dim=dim)
        if len(found) != 1:
            raise StorageFault(
                "embed.answer", f"the provider made {len(found)} vectors of one text"
            )
        return found[0]

    return embed
