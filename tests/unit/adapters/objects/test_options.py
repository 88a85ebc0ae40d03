"""Where a bucket's endpoint and credentials come from."""

from __future__ import annotations

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.adapters.objects.options import bucket_options
from omnigraph.errors import StorageFault

HIDDEN = "do-not-show-me"


def test_variables_of_the_environment_are_taken() -> None:
    options = bucket_options(
        None,
        {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": HIDDEN,
            "AWS_SESSION_TOKEN": "token",
            "AWS_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_PROFILE": "somebody",
            "PATH": "/bin",
        },
    )
    assert options.config == {
        "aws_access_key_id": "key",
        "aws_secret_access_key": HIDDEN,
        "aws_session_token": "token",
        "aws_region": "eu-central-1",
        "aws_endpoint": "http://127.0.0.1:1",
    }
    assert options.client == {"allow_http": True}
    assert options.lance == {**options.config, "allow_http": "true"}


def test_the_endpoint_for_s3_wins_over_the_general_one() -> None:
    environment = {"AWS_ENDPOINT_URL": "http://general", "AWS_ENDPOINT_URL_S3": "http://s3"}
    assert bucket_options(None, environment).config["aws_endpoint"] == "http://s3"


def test_explicit_options_win_over_the_environment() -> None:
    environment = {"AWS_REGION": "env", "AWS_ENDPOINT_URL": "http://env"}
    options = bucket_options({"region": "given", "aws_endpoint": "http://given"}, environment)
    assert options.config == {"aws_region": "given", "aws_endpoint": "http://given"}


@pytest.mark.parametrize(("style", "virtual"), [("true", "false"), ("false", "true")])
def test_path_style_is_the_opposite_of_virtual_hosts(style: str, virtual: str) -> None:
    options = bucket_options(None, {"AWS_S3_FORCE_PATH_STYLE": style})
    assert options.config == {"aws_virtual_hosted_style_request": virtual}


def test_a_misspelt_option_is_refused_and_nothing_secret_is_shown() -> None:
    given = {"aws_regoin": "x", "aws_secret_access_key": HIDDEN}
    with pytest.raises(StorageFault) as caught:
        open_objects("s3://bucket/prefix", given)
    assert caught.value.code == "storage.options"
    assert "aws_regoin" in caught.value.details["options"]
    assert HIDDEN not in f"{caught.value} {caught.value.details}"


def test_no_representation_shows_credentials() -> None:
    given = {"aws_access_key_id": "key", "aws_secret_access_key": HIDDEN, "region": "x"}
    assert HIDDEN not in repr(bucket_options(given, {}))
    assert HIDDEN not in repr(open_objects("s3://bucket/prefix", given))
