"""Where a bucket's endpoint and credentials come from, for obstore and for Lance alike.

``storage_options`` win over the ``AWS_*`` variables of the environment. Both spell the same things
in several ways; here each thing has one name. What is not given is left to the libraries, which
know about instance profiles, web identities and the like.
"""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BucketOptions", "bucket_options"]

# Spellings of one option, lower case. The first is the one that obstore and Lance both take.
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "aws_access_key_id": ("access_key_id",),
    "aws_secret_access_key": ("secret_access_key",),
    "aws_session_token": ("session_token", "aws_token", "token"),
    "aws_region": ("region", "aws_default_region", "default_region"),
    "aws_endpoint": (
        "aws_endpoint_url_s3",
        "endpoint_url_s3",
        "aws_endpoint_url",
        "endpoint_url",
        "endpoint",
    ),
    "aws_virtual_hosted_style_request": ("virtual_hosted_style_request",),
    "aws_unsigned_payload": ("unsigned_payload",),
    "aws_skip_signature": ("skip_signature",),
}
_ONE_NAME = {spelling: name for name, others in _SPELLINGS.items() for spelling in (name, *others)}
# Said of the connection, not of AWS.
_CLIENT = {"allow_http": "allow_http", "aws_allow_http": "allow_http"}
_PATH_STYLE = frozenset({"aws_s3_force_path_style", "s3_force_path_style", "force_path_style"})
_TRUE = frozenset({"1", "true", "yes", "on"})


@frozen
class BucketOptions:
    """One set of options, in the two dialects. Neither is shown: both hold credentials."""

    config: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)
    lance: Mapping[str, str] = field(repr=False)


def bucket_options(
    storage_options: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> BucketOptions:
    """Merge the environment and the explicit options."""
    variables = os.environ if environment is None else environment
    from_environment = {
        name.lower(): value for name, value in variables.items() if name.startswith("AWS_")
    }
    config, client = _normalise(from_environment, strict=False)
    own_config, own_client = _normalise(
        {name.lower(): value for name, value in (storage_options or {}).items()}, strict=True
    )
    config |= own_config
    client |= own_client
    return BucketOptions(config=config, client=client, lance=config | _for_lance(client))


def _normalise(given: Mapping[str, str], *, strict: bool) -> tuple[dict[str, str], dict[str, Any]]:
    """Split into store and client options.

    ``strict`` passes unknown names on, so that a misspelt one is refused by the library; the
    environment is full of variables that are not meant for us.
    """
    config: dict[str, str] = {}
    client: dict[str, Any] = {}
    for name, others in _SPELLINGS.items():
        # The order is a preference: the S3 endpoint wins over the general one.
        found = next((given[spelling] for spelling in (name, *others) if given.get(spelling)), None)
        if found is not None:
            config[name] = found
    for spelling, value in given.items():
        if spelling in _CLIENT:
            client[_CLIENT[spelling]] = value.lower() in _TRUE
        elif spelling in _PATH_STYLE:
            virtual = value.lower() not in _TRUE
            config["aws_virtual_hosted_style_request"] = str(virtual).lower()
        elif strict and spelling not in _ONE_NAME:
            config[spelling] = value
    return config, client


def _for_lance(client: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in client.items()}
