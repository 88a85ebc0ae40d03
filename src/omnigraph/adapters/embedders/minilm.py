"""The forward pass of all-MiniLM-L6-v2 in NumPy: six layers of BERT, mean pooling.

It needs neither torch nor ONNX. The weights are read from a safetensors file: a JSON header that
describes each tensor, and the bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from omnigraph.adapters.embedders.word_pieces import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DIMENSION", "LAYERS", "MiniLm"]

DIMENSION = 384
LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
# The length that the model was trained for; it ignores the rest of a text.
_PIECES_MAX = 256
# Padded pieces of one pass: the attention of all of them takes about 30 MB.
_PIECES_PER_PASS = 4_096

_Floats = Any


class MiniLm:
    """The model. Thread-safe: a pass changes nothing."""

    def __init__(self, weights: Path, vocabulary: Path) -> None:
        words = vocabulary.read_text(encoding="utf-8").splitlines()
        self._tokenizer = WordPieces({word: number for number, word in enumerate(words)})
        self._tensors = _read_tensors(weights)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length one per text."""
        encoded = [self._tokenizer.encode(text, _PIECES_MAX) for text in texts]
        found: list[list[float]] = [[]] * len(texts)
        # Texts of similar length share a pass, so that little of it is padding.
        pending = sorted(range(len(texts)), key=lambda index: len(encoded[index]))
        while pending:
            longest = len(encoded[pending[-1]])
            size = max(1, _PIECES_PER_PASS // longest)
            taken, pending = pending[-size:], pending[:-size]
            vectors = self._pass([encoded[index] for index in taken])
            for index, vector in zip(taken, vectors.tolist(), strict=True):
                found[index] = vector
        return found

    def _pass(self, batch: list[list[int]]) -> _Floats:
        longest = max(map(len, batch))
        pieces = np.zeros((len(batch), longest), dtype=np.int64)
        present = np.zeros((len(batch), longest), dtype=np.float32)
        for row, numbers in enumerate(batch):
            pieces[row, : len(numbers)] = numbers
            present[row, : len(numbers)] = 1
        hidden = self._embeddings(pieces)
        ignored = (1 - present)[:, None, None, :] * np.float32(-1e9)
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, ignored)
        weighted = (hidden * present[:, :, None]).sum(axis=1)
        pooled = weighted / present.sum(axis=1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def _embeddings(self, pieces: _Floats) -> _Floats:
        tables = self._tensors
        hidden = (
            tables["embeddings.word_embeddings.weight"][pieces]
            + tables["embeddings.position_embeddings.weight"][: pieces.shape[1]]
            + tables["embeddings.token_type_embeddings.weight"][0]
        )
        return self._normalized("embeddings.LayerNorm", hidden)

    def _layer(self, name: str, hidden: _Floats, ignored: _Floats) -> _Floats:
        rows, length, _ = hidden.shape

        def heads(which: str) -> _Floats:
            projected = self._linear(f"{name}.attention.self.{which}", hidden)
            return projected.reshape(rows, length, _HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scale = np.float32(1 / np.sqrt(DIMENSION // _HEADS))
        attention = _softmax(query @ key.transpose(0, 1, 3, 2) * scale + ignored)
        mixed = (attention @ value).transpose(0, 2, 1, 3).reshape(rows, length, DIMENSION)
        attended = self._linear(f"{name}.attention.output.dense", mixed)
        hidden = self._normalized(f"{name}.attention.output.LayerNorm", attended + hidden)
        wide = _gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._normalized(f"{name}.output.LayerNorm", narrow + hidden)

    def _linear(self, name: str, values: _Floats) -> _Floats:
        # One product of two matrices: NumPy multiplies stacks of matrices one by one.
        flat = values.reshape(-1, values.shape[-1]) @ self._tensors[f"{name}.weight"].T
        return (flat + self._tensors[f"{name}.bias"]).reshape(*values.shape[:-1], -1)

    def _normalized(self, name: str, values: _Floats) -> _Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(_EPSILON))
        return scaled * self._tensors[f"{name}.weight"] + self._tensors[f"{name}.bias"]


def _softmax(scores: _Floats) -> _Floats:
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def _gelu(values: _Floats) -> _Floats:
    return values * (1 + _erf(values / np.float32(np.sqrt(2)))) / 2


def _erf(values: _Floats) -> _Floats:
    """Approximate the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    size = np.abs(values)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.float32(1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(coefficient)
    return np.sign(values) * (1 - series * t * np.exp(-size * size))


def _read_tensors(path: Path) -> dict[str, _Floats]:
    content = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(bytes(content[:8]), "little")
    header = cast("dict[str, Any]", json.loads(bytes(content[8:start])))
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        first, last = tensor["data_offsets"]
        numbers = content[start + first : start + last].view(np.float32)
        tensors[name] = numbers.reshape(tensor["shape"])
    return tensors
