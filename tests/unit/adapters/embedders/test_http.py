"""Providers over HTTP, on loopback, that answer in every way they should not."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.adapters.embedders.configured import ConfiguredEmbedder
from omnigraph.adapters.embedders.retries import Backoff, parse_retry_after
from omnigraph.errors import GraphError, InvalidInput, StorageFault, Unsupported
from omnigraph.ports.embeddings import EmbeddingTask
from omnigraph.testing.provider import FakeProvider, Reply, fake_provider, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

KEY = "sk-very-secret-0123"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", "1")
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    with fake_provider() as served:
        monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", served.url)
        monkeypatch.setenv("OMNIGRAPH_EMBED_API_KEY", KEY)
        monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "small")
        yield served


def embed(*texts: str, dim: int = 3, task: EmbeddingTask = EmbeddingTask.DOCUMENT) -> list[Any]:
    found = ConfiguredEmbedder().embed(texts, model=None, dim=dim, task=task)
    return [list(vector) for vector in found]


def expected(texts: Sequence[str]) -> list[Any]:
    data = vectors_of({"input": list(texts), "model": "small"})["data"]
    return [each["embedding"] for each in data]


def test_texts_become_vectors_with_the_key_in_a_header(provider: FakeProvider) -> None:
    assert embed("a b", "c") == expected(["a b", "c"])
    assert provider.headers[0]["authorization"] == f"Bearer {KEY}"
    assert provider.paths == ["/v1/embeddings"]
    assert provider.requests[0]["model"] == "small"


def _damage(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[..., Reply]:
    def answer(body: dict[str, Any], _: int) -> Reply:
        found = vectors_of(body)
        changed = change(found["data"])
        return Reply(body={**found, "data": found["data"] if changed is None else changed})

    return answer


def _nan(body: dict[str, Any], _: int) -> Reply:
    vectors = ",".join('{"embedding": [NaN, 1, 2]}' for _ in body["input"])
    return Reply(body=f'{{"data": [{vectors}]}}'.encode())


MISBEHAVIOUR: dict[str, tuple[Callable[..., Reply], type[GraphError], str]] = {
    "fewer vectors": (_damage(lambda data: data[:1]), StorageFault, "embed.answer"),
    "more vectors": (
        _damage(lambda data: [*data, {**data[0], "index": 2}]),
        StorageFault,
        "embed.answer",
    ),
    "an index twice": (_damage(lambda data: [data[0], data[0]]), StorageFault, "embed.answer"),
    "no indexes and null": (_damage(lambda data: [{}, {}]), StorageFault, "embed.answer"),
    "texts for numbers": (
        _damage(lambda data: [{**each, "embedding": ["1", "2", "3"]} for each in data]),
        StorageFault,
        "embed.answer",
    ),
    "booleans": (
        _damage(lambda data: [{**each, "embedding": [True, False, True]} for each in data]),
        StorageFault,
        "embed.answer",
    ),
    "another dimension": (
        _damage(lambda data: [{**each, "embedding": [1.0, 2.0]} for each in data]),
        InvalidInput,
        "embed.dimension",
    ),
    "zero vectors": (
        _damage(lambda data: [{**each, "embedding": [0.0, 0, 0]} for each in data]),
        StorageFault,
        "embed.answer",
    ),
    "NaN": (_nan, StorageFault, "embed.answer"),
    "infinity": (
        _damage(lambda data: [{**each, "embedding": [1e39, 0, 0]} for each in data]),
        StorageFault,
        "embed.answer",
    ),
    "HTML": (
        lambda *_: Reply(body=b"<html>proxy</html>", headers={"Content-Type": "text/html"}),
        StorageFault,
        "embed.answer",
    ),
    "a list": (lambda *_: Reply(body=[1]), StorageFault, "embed.answer"),
    "429 for an hour": (
        lambda *_: Reply(429, {"error": KEY}, {"Retry-After": "3600"}),
        StorageFault,
        "embed.rate_limited",
    ),
    "429": (lambda *_: Reply(429, {"error": KEY}), StorageFault, "embed.rate_limited"),
    "500": (lambda *_: Reply(500, KEY), StorageFault, "embed.unavailable"),
    "400": (lambda *_: Reply(400, {"error": KEY}), InvalidInput, "embed.rejected"),
    "401": (lambda *_: Reply(401, {"error": KEY}), StorageFault, "embed.unauthorized"),
    "a redirect to a private address": (
        lambda *_: Reply(307, "", {"Location": "http://169.254.169.254/latest"}),
        StorageFault,
        "embed.redirected",
    ),
}


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_misbehaviour_is_a_typed_error_without_secrets(
    provider: FakeProvider, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, kind, code = MISBEHAVIOUR[name]
    provider.answer = answer
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        embed("one", "two")
    assert caught.value.code == code
    assert (
        KEY not in f"{caught.value} {caught.value.to_json()} {caught.value.__cause__} {caplog.text}"
    )


def test_vectors_in_another_order_are_put_in_order(provider: FakeProvider) -> None:
    provider.answer = _damage(lambda data: list(reversed(data)))
    assert embed("one", "two", "three") == expected(["one", "two", "three"])


def test_a_provider_that_hangs_is_given_up_at_the_deadline(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_TIMEOUT_MS", "100")
    monkeypatch.setenv("OMNIGRAPH_EMBED_DEADLINE_MS", "250")
    provider.answer = lambda *_: Reply(hang=30)
    with pytest.raises(StorageFault) as caught:
        embed("one")
    assert caught.value.code == "embed.timeout"
    assert 1 <= len(provider.requests) <= 3


def test_a_closed_port_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_provider() as served:
        url = served.url
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", url)
    with pytest.raises(StorageFault) as caught:
        embed("one")
    assert caught.value.code == "embed.unreachable"


def test_failures_that_pass_are_retried(provider: FakeProvider) -> None:
    replies = [Reply(500), Reply(429, headers={"Retry-After": "0"}), Reply(503)]
    provider.answer = lambda body, number: (
        replies[number] if number < len(replies) else Reply(body=vectors_of(body))
    )
    assert embed("one") == expected(["one"])
    assert len(provider.requests) == 4


def test_a_refusal_is_not_retried(provider: FakeProvider) -> None:
    provider.answer = lambda *_: Reply(400)
    with pytest.raises(InvalidInput):
        embed("one")
    assert len(provider.requests) == 1


def test_batches_run_at_once_within_the_limit(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_BATCH", "2")
    monkeypatch.setenv("OMNIGRAPH_EMBED_CONCURRENCY", "3")
    provider.answer = lambda body, _: Reply(body=vectors_of(body), hang=0.05)
    texts = [f"text {number}" for number in range(12)]
    assert embed(*texts) == expected(texts)
    assert {len(each["input"]) for each in provider.requests} == {2}
    assert 1 < provider.running_max <= 3


def test_a_text_is_sent_once_and_then_cached(provider: FakeProvider) -> None:
    assert embed("one", "two", "one") == expected(["one", "two", "one"])
    assert embed("two", "three") == expected(["two", "three"])
    assert sorted(provider.texts) == ["one", "three", "two"]


def test_what_a_failed_call_embedded_is_not_sent_again(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_BATCH", "1")
    monkeypatch.setenv("OMNIGRAPH_EMBED_CONCURRENCY", "1")
    provider.answer = lambda body, number: (
        Reply(400) if number == 2 else Reply(body=vectors_of(body))
    )
    with pytest.raises(InvalidInput):
        embed("one", "two", "three")
    assert embed("one", "two", "three") == expected(["one", "two", "three"])
    assert provider.texts == ["one", "two", "three", "three"]


def test_models_dimensions_and_tasks_have_their_own_vectors(provider: FakeProvider) -> None:
    embed("one")
    embed("one", task=EmbeddingTask.QUERY)
    provider.answer = lambda body, _: Reply(body=vectors_of(body, dim=4))
    embed("one", dim=4)
    assert len(provider.requests) == 3


def test_a_damaged_cache_is_replaced(provider: FakeProvider, tmp_path: Path) -> None:
    embed("one")
    cache = tmp_path / "home" / "cache" / "embeddings.sqlite"
    assert cache.stat().st_mode & 0o077 == 0
    cache.write_bytes(b"not a database" * 1_000)
    assert embed("one") == expected(["one"])
    assert embed("one") == expected(["one"])
    assert len(provider.requests) == 2


def test_the_cache_can_be_off(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_CACHE", "off")
    embed("one")
    embed("one")
    assert len(provider.requests) == 2


def test_gemini_distinguishes_documents_from_queries(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "gemini")
    vector = [1.0, 2.0, 3.0]
    provider.answer = lambda body, _: Reply(
        body={"embeddings": [{"values": vector} for _ in body["requests"]]}
    )
    assert embed("one") == [vector]
    assert embed("one", task=EmbeddingTask.QUERY) == [vector]
    sent = [body["requests"][0] for body in provider.requests]
    assert [each["taskType"] for each in sent] == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]
    assert {each["outputDimensionality"] for each in sent} == {3}
    assert provider.paths[0] == "/v1/models/small:batchEmbedContents"
    assert provider.headers[0]["x-goog-api-key"] == KEY


def test_another_model_than_the_configured_one_is_refused_with_both(
    provider: FakeProvider,
) -> None:
    with pytest.raises(InvalidInput, match=r"'large'.*'small'") as caught:
        ConfiguredEmbedder().embed(["one"], model="large", dim=3, task=EmbeddingTask.QUERY)
    assert caught.value.code == "embed.model"
    assert provider.requests == []


def test_without_a_configured_model_the_declared_one_is_used(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_MODEL")
    ConfiguredEmbedder().embed(["one"], model="large", dim=3, task=EmbeddingTask.QUERY)
    assert provider.requests[0]["model"] == "large"


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "embed.empty_text"), (" \n", "embed.empty_text"), ("x" * 2**21, "embed.text_too_large")],
)
def test_texts_that_cannot_be_embedded_are_not_sent(
    provider: FakeProvider, text: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        embed("one", text)
    assert (caught.value.code, provider.requests) == (code, [])


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-compatible", "OPENROUTER_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_is_named(
    monkeypatch: pytest.MonkeyPatch, provider: str, variable: str
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", provider)
    # The key of another provider, or of another address, is not used.
    monkeypatch.setenv("OMNIGRAPH_EMBED_API_KEY", KEY)
    with pytest.raises(Unsupported) as caught:
        embed("one")
    assert caught.value.code == "embed.no_key"
    assert variable in str(caught.value.remedy)


def test_keys_come_from_the_credentials_file(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_API_KEY")
    file = tmp_path / "home" / "credentials"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[embedding:custom]\ntoken = from-the-file\n")
    file.chmod(0o600)
    embed("one")
    assert provider.headers[0]["authorization"] == "Bearer from-the-file"
    file.chmod(0o644)
    with pytest.raises(InvalidInput) as caught:
        embed("two")
    assert caught.value.code == "credentials.exposed"


def test_the_key_of_a_vendor_is_not_sent_to_another_address(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBED_API_KEY")
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embed("one")
    assert "authorization" not in provider.headers[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMNIGRAPH_EMBED_PROVIDER", "oracle"),
        ("OMNIGRAPH_EMBED_BASE_URL", "ftp://example.org"),
        ("OMNIGRAPH_EMBED_BASE_URL", f"https://ada:{KEY}@example.org/v1"),
        ("OMNIGRAPH_EMBED_BASE_URL", f"https://example.org/v1?key={KEY}"),
        ("OMNIGRAPH_EMBED_BASE_URL", "http://169.254.169.254/latest"),
        ("OMNIGRAPH_EMBED_BASE_URL", "https://[oops"),
        ("OMNIGRAPH_EMBED_DEADLINE_MS", "soon"),
        ("OMNIGRAPH_EMBED_TIMEOUT_MS", "0"),
        ("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "-1"),
    ],
)
def test_bad_settings_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput) as caught:
        embed("one")
    assert caught.value.code == "embed.bad_setting"
    assert name in caught.value.message
    assert KEY not in json.dumps(caught.value.to_json())


def test_a_key_is_not_sent_in_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", "http://embeddings.example.org/v1")
    monkeypatch.setenv("OMNIGRAPH_EMBED_API_KEY", KEY)
    with pytest.raises(InvalidInput) as caught:
        embed("one")
    assert caught.value.code == "embed.insecure"


def test_the_backoff_doubles_within_its_jitter_and_respects_the_provider() -> None:
    backoff = Backoff(attempts=4, base_seconds=0.2)
    for attempt in range(4):
        full = 0.2 * 2**attempt
        pause = backoff.pause(attempt, None, left=60)
        assert pause is not None
        assert full / 2 <= pause <= full
        asked = backoff.pause(attempt, 7.0, left=60)
        assert asked is not None
        assert 7 + full / 2 <= asked <= 7 + full
    assert backoff.pause(4, None, left=60) is None
    assert backoff.pause(0, 3600.0, left=60) is None


def test_retry_after_is_seconds_or_a_date() -> None:
    assert parse_retry_after("12") == 12
    assert parse_retry_after("Wed, 01 Jan 2020 00:00:00 GMT") == 0
    assert (parse_retry_after("Fri, 01 Jan 2100 00:00:00 GMT") or 0) > 1e6
    for unknown in (None, "", "soon", "-1"):
        assert parse_retry_after(unknown) is None
