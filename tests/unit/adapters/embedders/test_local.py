"""The model in process: its weights come from a package, and nothing from a network."""

from __future__ import annotations

import math
import socket
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.embedders import local
from omnigraph.adapters.embedders.configured import ConfiguredEmbedder, configured_embedder
from omnigraph.adapters.embedders.local import LocalEmbedder
from omnigraph.adapters.embedders.word_pieces import WordPieces
from omnigraph.errors import GraphError, InvalidInput, StorageFault, Unsupported
from omnigraph.ports.embeddings import EmbeddingTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the local model used the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def distance(left: Sequence[float], right: Sequence[float]) -> float:
    return 1 - sum(x * y for x, y in zip(left, right, strict=True))


def embed(*texts: str) -> list[Sequence[float]]:
    embedder = configured_embedder("local")
    return list(embedder.embed(texts, model=None, dim=384, task=EmbeddingTask.DOCUMENT))


def test_cats_are_nearer_to_kittens_than_to_bridges() -> None:
    cats, kittens, bridges = embed("cats", "kittens", "bridges")
    assert distance(cats, kittens) < 0.3
    assert distance(cats, bridges) > 0.6


def test_the_vectors_are_those_of_the_published_model() -> None:
    # Of sentence-transformers, for its model card's first example.
    [vector] = embed("This is an example sentence")
    published = [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480]
    assert vector[:5] == pytest.approx(published, abs=2e-5)
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    texts = ["a bridge", "two kittens sleep on a warm stone in the sun", "x", "a bridge " * 40]
    together = embed(*texts)
    for text, vector in zip(texts, together, strict=True):
        [alone] = embed(text)
        assert vector == pytest.approx(alone, abs=1e-5)


def test_another_model_or_dimension_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"all-MiniLM-L6-v2.*'small'") as caught:
        ConfiguredEmbedder("local").embed(["x"], model="small", dim=384, task=EmbeddingTask.QUERY)
    assert caught.value.code == "embed.model"
    with pytest.raises(InvalidInput, match=r"384.*768") as caught:
        ConfiguredEmbedder("local").embed(["x"], model=None, dim=768, task=EmbeddingTask.QUERY)
    assert caught.value.code == "embed.dimension"


def test_without_the_package_the_remedy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PACKAGES", (("no_such_package", "x"),))
    assert refusal(LocalEmbedder()) == (Unsupported, "embed.not_installed")


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("model.safetensors", "vocab.txt"):
        (tmp_path / name).write_bytes(b"damaged")
    monkeypatch.setattr(local, "_candidates", lambda: iter([tmp_path]))
    assert refusal(LocalEmbedder()) == (StorageFault, "embed.damaged_model")


def refusal(embedder: LocalEmbedder) -> tuple[type[GraphError], str]:
    with pytest.raises(GraphError) as caught:
        embedder.embed(["x"], model=None, dim=384, task=EmbeddingTask.QUERY)
    return type(caught.value), caught.value.code


def test_words_are_split_into_the_longest_pieces() -> None:
    words = ["[CLS]", "[SEP]", "[UNK]", "cat", "##s", "cafe", "-", "中", "kit", "##ten"]
    pieces = WordPieces({word: number for number, word in enumerate(words)})

    def spell(text: str, length: int = 20) -> str:
        return " ".join(words[number] for number in pieces.encode(text, length))

    assert spell("Cats") == "[CLS] cat ##s [SEP]"
    assert spell("Café-cat") == "[CLS] cafe - cat [SEP]"
    assert spell("中中") == "[CLS] 中 中 [SEP]"
    assert spell("kittens dog") == "[CLS] kit ##ten ##s [UNK] [SEP]"
    assert spell("cat\u200b\x00s") == "[CLS] cat ##s [SEP]"
    assert spell("x" * 101) == "[CLS] [UNK] [SEP]"
    assert spell("cat cat cat", 4) == "[CLS] cat cat [SEP]"
    assert spell("") == "[CLS] [SEP]"
