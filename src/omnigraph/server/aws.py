"""Reads secrets from AWS Secrets Manager with one signed request, without an SDK.

Credentials come from the environment, or from the container of the process. The region comes from
the ARN of the secret, or from ``AWS_REGION``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK, micros_to_datetime

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Credentials", "read_secret", "sign"]

_SERVICE = "secretsmanager"
_SECONDS_MAX = 10
_CONTAINER = "http://169.254.170.2"


@frozen
class Credentials:
    """AWS credentials; ``session`` is the token of temporary ones."""

    key: str
    secret: str
    session: str | None = None


def read_secret(name: str, environment: Mapping[str, str]) -> str:
    """Return the text of a secret; errors never contain it."""
    region = _region(name, environment)
    url = environment.get("AWS_ENDPOINT_URL_SECRETS_MANAGER") or environment.get("AWS_ENDPOINT_URL")
    url = (url or f"https://{_SERVICE}.{region}.amazonaws.com").rstrip("/") + "/"
    body = json.dumps({"SecretId": name}).encode()
    headers = {
        "Content-Type": "application/x-amz-json-1.1",
        "Host": urlsplit(url).netloc,
        "X-Amz-Date": _now(),
        "X-Amz-Target": f"{_SERVICE}.GetSecretValue",
    }
    signed = sign(headers, body, _credentials(environment), scope=(region, _SERVICE))
    found = _ask(url, signed, body)
    text = found.get("SecretString")
    if not isinstance(text, str):
        raise _unreadable("it has no text value")
    return text


def sign(
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    *,
    scope: tuple[str, str],
    request: str = "POST\n/\n",
) -> dict[str, str]:
    """Return headers with a version 4 signature for a region and a service."""
    if credentials.session is not None:
        headers = {**headers, "X-Amz-Security-Token": credentials.session}
    moment = headers["X-Amz-Date"]
    lines = sorted((key.lower(), value.strip()) for key, value in headers.items())
    names = ";".join(key for key, _ in lines)
    canonical = "\n".join(
        [request, *(f"{key}:{value}" for key, value in lines), "", names, _digest(body)]
    )
    place = "/".join((moment[:8], *scope, "aws4_request"))
    text = "\n".join(("AWS4-HMAC-SHA256", moment, place, _digest(canonical.encode())))
    key = f"AWS4{credentials.secret}".encode()
    for part in place.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    told = f"Credential={credentials.key}/{place}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "Authorization": f"AWS4-HMAC-SHA256 {told}"}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _now() -> str:
    return micros_to_datetime(SYSTEM_CLOCK.now_micros()).strftime("%Y%m%dT%H%M%SZ")


def _region(name: str, environment: Mapping[str, str]) -> str:
    parts = name.split(":")
    if len(parts) > 3 and parts[0] == "arn":
        return parts[3]
    found = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not found:
        raise _unreadable("no region; set AWS_REGION")
    return found


def _credentials(environment: Mapping[str, str]) -> Credentials:
    key, secret = (
        environment.get(f"AWS_{each}") for each in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    )
    if key and secret:
        return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN") or None)
    path = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") or (path and _CONTAINER + path)
    if not url:
        raise _unreadable("no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    found = _ask(url, {"Authorization": token} if token else {})
    try:
        return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["Token"])
    except KeyError:
        raise _unreadable("the container has no credentials") from None


def _ask(url: str, headers: Mapping[str, str], body: bytes | None = None) -> dict[str, str]:
    if urlsplit(url).scheme not in ("http", "https"):
        raise _unreadable("its address is not an HTTP URL")
    request = urllib.request.Request(url, data=body, headers=dict(headers))  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS_MAX) as answer:  # noqa: S310
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        raise _unreadable(f"{urlsplit(url).netloc} answers {error.code}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(f"{urlsplit(url).netloc}: {type(error).__name__}") from None
    return found if isinstance(found, dict) else {}


def _unreadable(why: str) -> InvalidInput:
    return InvalidInput("token.unreadable", f"cannot read the AWS secret: {why}")
