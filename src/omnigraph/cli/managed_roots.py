"""Refuse direct changes of graphs that a cluster manages."""

from __future__ import annotations

from omnigraph.errors import InvalidInput

__all__ = ["require_unmanaged"]

_SUFFIX = ".omni"
# The ledger of a cluster; the module of the ledger would load the engine.
_STATE = "__cluster/state"


def require_unmanaged(uri: str, *, action: str) -> None:
    """Refuse a root ``<storage>/graphs/<id>.omni`` next to the ledger of a cluster."""
    storage, mark, name = uri.rstrip("/").rpartition("/graphs/")
    if not mark:
        storage, name = ".", uri.removeprefix("./").removeprefix("graphs/")
        mark = "graphs/" if uri.removeprefix("./").startswith("graphs/") else ""
    if not mark or "/" in name or not name.endswith(_SUFFIX):
        return
    from omnigraph.graph.open import open_store  # noqa: PLC0415 - only such locations need it

    if open_store(storage or "/").list(_STATE):
        raise InvalidInput(
            "cluster.managed_graph",
            f"{action}: {uri} belongs to the cluster at {storage}",
            remedy="change cluster.yaml and its files, then run `omnigraph cluster apply`",
        )
