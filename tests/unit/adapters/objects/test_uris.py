"""What users may write as the place of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.adapters.objects.uris import Location, Scheme, parse_uri
from omnigraph.errors import InvalidInput


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/data/graph.omni", "/data/graph.omni"),
        ("/data/./a/../graph.omni/", "/data/graph.omni"),
        ("file:///data/graph.omni", "/data/graph.omni"),
        ("FILE:///data/graph.omni", "/data/graph.omni"),
        ("file://localhost/data/graph.omni", "/data/graph.omni"),
        ("file:///data/my%20graph.omni", "/data/my graph.omni"),
        ("file:///data/my graph.omni", "/data/my graph.omni"),
        ("/data/my graph.omni", "/data/my graph.omni"),
        ("/data/my%20graph.omni", "/data/my%20graph.omni"),
        ("file:///data/a%23b%3Fc%25", "/data/a#b?c%"),
        ("/data/ümlaut", "/data/ümlaut"),
    ],
)
def test_local_places(uri: str, path: str) -> None:
    assert parse_uri(uri) == Location(Scheme.LOCAL, path)
    assert parse_uri(uri).uri == path


@pytest.mark.parametrize("uri", ["graph.omni", "./graph.omni", "sub/../graph.omni"])
def test_relative_places_are_below_the_working_directory(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_uri(uri).path == str(tmp_path / "graph.omni")


def test_the_home_directory_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_uri("~/graph.omni").path == "/home/somebody/graph.omni"


@pytest.mark.parametrize(
    ("uri", "bucket", "prefix", "canonical"),
    [
        ("s3://bucket/a/b", "bucket", "a/b", "s3://bucket/a/b"),
        ("s3://bucket/a/b/", "bucket", "a/b", "s3://bucket/a/b"),
        ("s3://bucket//a//b", "bucket", "a/b", "s3://bucket/a/b"),
        ("S3://bucket", "bucket", "", "s3://bucket"),
        ("s3://bucket/with space", "bucket", "with space", "s3://bucket/with space"),
    ],
)
def test_places_in_a_bucket(uri: str, bucket: str, prefix: str, canonical: str) -> None:
    location = parse_uri(uri)
    assert location == Location(Scheme.S3, prefix, bucket)
    assert location.uri == canonical


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "gs://bucket/a",
        "https://example.invalid/graph",
        "file://other-host/graph",
        "file:/graph",
        "file:///graph?x=1",
        "file:///graph#x",
        "s3://",
        "s3:///a",
        "s3://bucket/../other",
        "s3://key:secret@bucket/a",
        "/a\0b",
        "/a\nb",
        "s3:/bucket/a",
        "S3:bucket",
        "memory:x",
        "~nobody-of-this-name/graph",
    ],
)
def test_other_places_are_refused(uri: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_uri(uri)
    assert caught.value.code == "uri.unsupported"
    assert caught.value.remedy
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.details)


def test_one_graph_by_three_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my graph").mkdir()
    open_objects("./my graph").put("key", b"1")
    assert open_objects(f"file://{tmp_path}/my%20graph").get("key") == b"1"
    assert open_objects(str(tmp_path / "my graph")).get("key") == b"1"
    assert open_objects("my graph").uri == str(tmp_path / "my graph")
