"""A graph in a bucket: lost replies, the number of requests, options and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.errors import StorageFault
from omnigraph.runtime.ids import new_short_id
from omnigraph.testing.proxy import S3Proxy, S3Request, start_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ports.tables import Pin
    from omnigraph.testing.s3 import S3Endpoint

pytestmark = pytest.mark.s3

PATH = "nodes/person-1"
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


@pytest.fixture
def proxy(s3_endpoint: S3Endpoint) -> Iterator[S3Proxy]:
    with start_proxy(s3_endpoint) as proxy:
        yield proxy


@pytest.fixture
def uri(proxy: S3Proxy) -> str:
    return proxy.endpoint.uri(f"bucket-{new_short_id()}")


@pytest.fixture
def tables(proxy: S3Proxy, uri: str) -> LanceTables:
    return LanceTables(uri, proxy.endpoint.storage_options)


def people(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids)}, schema=SCHEMA)


def append(tables: LanceTables, pin: Pin, *ids: str) -> Pin:
    return tables.commit(pin, tables.open(pin).stage_append(people(*ids)), operation_id="op")


def puts_a_manifest(request: S3Request) -> bool:
    return request.verb == "PUT" and request.key.endswith(".manifest")


# --- lost replies: the PUT lands, the client sees a broken connection and asks again ---


def test_a_lost_reply_of_put_if_absent_is_a_win(proxy: S3Proxy, uri: str) -> None:
    objects = open_objects(uri, proxy.endpoint.storage_options)
    proxy.lose_reply(lambda request: request.verb == "PUT")
    assert objects.put_if_absent("lock", b"nonce")
    assert proxy.counts == {"PUT": 2, "GET": 1}, "the client tried twice, then read back"
    assert objects.get("lock") == b"nonce"


def test_a_lost_reply_of_a_table_commit_is_a_win(proxy: S3Proxy, tables: LanceTables) -> None:
    proxy.lose_reply(puts_a_manifest)
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    proxy.lose_reply(puts_a_manifest)
    pin = append(tables, pin, "a")
    assert pin.rows == 1
    assert tables.open(pin).count() == 1


# --- requests: what one step costs, whatever the length of the history ---


def counted(proxy: S3Proxy) -> dict[str, int]:
    counts = dict(proxy.counts)
    proxy.reset()
    return counts


def test_the_requests_of_a_write_do_not_grow_with_history(
    proxy: S3Proxy, tables: LanceTables
) -> None:
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    seen: list[list[dict[str, int]]] = []
    for _ in range(12):
        proxy.reset()
        staged = tables.open(pin).stage_append(people("a"))
        costs = [counted(proxy)]
        pin = tables.commit(pin, staged, operation_id="op")
        costs.append(counted(proxy))
        seen.append(costs)
    staging = {"PUT": 1}
    # The staged file is looked at; the transaction and the manifest are written.
    committing = {"HEAD": 1, "PUT": 2}
    assert all(costs == [staging, committing] for costs in seen[1:])


def test_the_requests_of_a_read_do_not_grow_with_history(
    proxy: S3Proxy, tables: LanceTables, uri: str
) -> None:
    pin = tables.create(PATH, SCHEMA, operation_id="op")
    seen = []
    for number in range(6):
        pin = append(tables, pin, f"a{number}")
        proxy.reset()
        LanceTables(uri, proxy.endpoint.storage_options).open(pin)
        seen.append(counted(proxy))
    assert seen[-1] == seen[0], "a cold open of a pin"
    assert "LIST" not in seen[0]


def test_an_open_pin_costs_nothing_to_open_again(proxy: S3Proxy, tables: LanceTables) -> None:
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a")
    proxy.reset()
    tables.open(pin)
    assert counted(proxy) == {}


# --- options and refusals ---


def test_variables_of_the_environment_are_enough(
    s3_endpoint: S3Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_endpoint.environment.items():
        monkeypatch.setenv(name, value)
    uri = s3_endpoint.uri(f"environment {new_short_id()}")
    open_objects(uri).put("key", b"1")
    assert open_objects(uri).list("") == ["key"]
    tables = LanceTables(uri)
    pin = append(tables, tables.create(PATH, SCHEMA, operation_id="op"), "a")
    assert LanceTables(uri).open(pin).count() == 1


def test_wrong_credentials_are_a_fault_and_not_shown(s3_endpoint: S3Endpoint) -> None:
    wrong = {**s3_endpoint.storage_options, "aws_secret_access_key": "not-the-one"}
    uri = s3_endpoint.uri("refused")
    objects = open_objects(uri, wrong)
    for ask in (objects.get, objects.exists, objects.list):
        with pytest.raises(StorageFault) as caught:
            ask("key")
        assert "not-the-one" not in f"{caught.value} {caught.value.details}"
    with pytest.raises(StorageFault):
        objects.put_if_absent("key", b"1")
    with pytest.raises(StorageFault):
        LanceTables(uri, wrong).create(PATH, SCHEMA, operation_id="op")


def test_a_missing_bucket_is_a_fault_on_writing(s3_endpoint: S3Endpoint) -> None:
    # The server would make the bucket for an administrator; a name that it refuses it cannot make.
    objects = open_objects("s3://Not_A_Bucket/x", s3_endpoint.storage_options)
    with pytest.raises(StorageFault):
        objects.put("key", b"1")


def test_an_endpoint_that_is_not_there_is_a_fault(s3_endpoint: S3Endpoint) -> None:
    nowhere = {**s3_endpoint.storage_options, "aws_endpoint": "http://127.0.0.1:9"}
    with pytest.raises(StorageFault) as caught:
        open_objects(s3_endpoint.uri("x"), nowhere).get("key")
    assert caught.value.remedy
