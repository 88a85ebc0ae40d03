"""Who asks: sources of tokens, what is kept of them, and the states of a server."""

from __future__ import annotations

import gc
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest

from omnigraph.errors import InvalidInput
from omnigraph.server.app import choose_access
from omnigraph.server.aws import Credentials, sign
from omnigraph.server.service import ServerAccess
from omnigraph.server.tokens import Tokens, read_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = "OMNIGRAPH_SERVER_BEARER_TOKEN"
MANY = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"


def test_a_single_token_is_that_of_the_default_actor() -> None:
    tokens = read_tokens({ONE: "secret"})
    assert tokens.actor_of(b"Bearer secret") == "default"
    assert tokens.actor_of(b"bearer secret") == "default"


def test_the_first_source_that_is_set_is_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{"ada": "of-file"}', encoding="utf-8")
    environment = {FILE: str(path), MANY: '{"bob": "of-json"}', ONE: "single"}
    assert read_tokens(environment).actors == ("ada",)
    del environment[FILE]
    assert read_tokens(environment).actors == ("bob",)
    del environment[MANY]
    assert read_tokens(environment).actors == ("default",)
    assert len(read_tokens({})) == 0


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"secret",
        b"Bearer",
        b"Bearer ",
        b"Bearer secre",
        b"Bearer secret ",
        b"Bearer  secret",
        b"Basic secret",
        b"Bearer SECRET",
        b"Bearer secret\x00",
        b"Bearer \xff\xfe",
        b"BearerXsecret",
    ],
)
def test_anything_but_the_token_is_nobody(header: bytes) -> None:
    assert Tokens({"ada": "secret"}).actor_of(header) is None


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[]", "{}", '"x"', '{"ada": 1}', '{"ada": ""}', '{"ada": "a b"}', '{"": "x"}',
     '{"ada": "x", "ada": "y"}', '{"ada": "x", "bob": "x"}', '{"omnigraph:recovery": "x"}',
     '{" ada": "x"}', '{"a\\nb": "x"}'],
)  # fmt: skip
def test_tokens_that_make_no_sense_do_not_start_a_server(text: str) -> None:
    with pytest.raises(InvalidInput) as told:
        read_tokens({MANY: text or "x"})
    assert told.value.code.startswith("token.")


def test_no_message_shows_a_token() -> None:
    for text in (
        '{"ada": "hunter2 "}',
        '{"ada": "hunter2", "bob": "hunter2"}',
        '{"ada": "hunter2"',
    ):
        with pytest.raises(InvalidInput) as told:
            read_tokens({MANY: text})
        assert "hunter2" not in str(told.value)


def test_no_token_is_kept_in_plain_text() -> None:
    """INV-12: hashed at the start, forgotten afterwards."""
    secret = "".join(["plain", "text", "secret"])
    tokens = read_tokens({MANY: json.dumps({"ada": secret})})
    gc.collect()
    reachable: set[int] = set()
    waiting: list[object] = [tokens]
    while waiting:
        found = waiting.pop()
        if id(found) in reachable or isinstance(found, type):
            continue
        reachable.add(id(found))
        assert found not in (secret, secret.encode())
        waiting += [each for each in gc.get_referents(found) if not callable(each)]
    assert tokens.actor_of(b"Bearer " + secret.encode()) == "ada"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot read") as told:
        read_tokens({FILE: str(tmp_path / "nope")})
    assert told.value.code == "token.unreadable"


@pytest.mark.parametrize(
    ("tokens", "policy", "unauthenticated", "outcome"),
    [
        (False, False, True, ServerAccess.OPEN),
        (True, False, False, ServerAccess.DEFAULT_DENY),
        (True, True, False, ServerAccess.POLICY),
        (False, False, False, "serve.no_tokens"),
        (False, True, False, "serve.policy_without_tokens"),
        (False, True, True, "serve.policy_without_tokens"),
        (True, False, True, "serve.tokens_ignored"),
        (True, True, True, "serve.tokens_ignored"),
    ],
)
def test_the_state_follows_from_tokens_and_policy(
    tokens: bool, policy: bool, unauthenticated: bool, outcome: ServerAccess | str
) -> None:
    if isinstance(outcome, ServerAccess):
        assert (
            choose_access(tokens=tokens, policy=policy, unauthenticated=unauthenticated) is outcome
        )
        return
    with pytest.raises(InvalidInput) as told:
        choose_access(tokens=tokens, policy=policy, unauthenticated=unauthenticated)
    assert told.value.code == outcome
    assert told.value.remedy


# --- AWS -----------------------------------------------------------------------------------------

AWS = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"
KEYS = {
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}


def test_a_signature_is_the_one_that_aws_publishes() -> None:
    """The case `get-vanilla` of the suite for signatures of version 4."""
    headers = {"Host": "example.amazonaws.com", "X-Amz-Date": "20150830T123600Z"}
    credentials = Credentials(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"])
    scope = ("us-east-1", "service")
    signed = sign(headers, b"", credentials, scope=scope, request="GET\n/\n")
    assert signed["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    )


class SecretsManager(BaseHTTPRequestHandler):
    """Answers as AWS does, and keeps what it was asked."""

    asked: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.path, dict(self.headers), body))
        known = json.loads(body)["SecretId"].endswith("graph-tokens")
        self._say(200 if known else 400, {"SecretString": '{"ada": "from-aws"}'} if known else {})

    def do_GET(self) -> None:
        said = {"AccessKeyId": "ASIA", "SecretAccessKey": "s", "Token": "ends-soon"}
        self._say(200, said if self.headers["Authorization"] == "container" else {})

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _say(self, status: int, said: dict[str, str]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())


@pytest.fixture
def aws() -> Iterator[dict[str, str]]:
    """An environment in which AWS is here."""
    SecretsManager.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), SecretsManager)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
    server.shutdown()
    thread.join()
    server.server_close()


def test_tokens_come_from_a_secret_of_aws_before_any_other_source(aws: dict[str, str]) -> None:
    tokens = read_tokens({**aws, AWS: "prod/graph-tokens", MANY: '{"bob": "from-json"}'})
    assert tokens.actor_of(b"Bearer from-aws") == "ada"
    assert tokens.actor_of(b"Bearer from-json") is None
    ((path, headers, body),) = SecretsManager.asked
    assert (path, json.loads(body)) == ("/", {"SecretId": "prod/graph-tokens"})
    assert headers["X-Amz-Target"] == "secretsmanager.GetSecretValue"
    assert "/eu-west-1/secretsmanager/aws4_request, " in headers["Authorization"]


def test_the_region_of_an_arn_and_the_role_of_a_container_are_used(aws: dict[str, str]) -> None:
    environment = {
        "AWS_ENDPOINT_URL": aws["AWS_ENDPOINT_URL"],
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": aws["AWS_ENDPOINT_URL"] + "/role",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container",
        AWS: "arn:aws:secretsmanager:us-east-2:1234:secret:graph-tokens",
    }
    assert read_tokens(environment).actors == ("ada",)
    ((_, headers, _),) = SecretsManager.asked
    assert "Credential=ASIA/" in headers["Authorization"]
    assert "/us-east-2/" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "ends-soon"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({AWS: "unknown"}, "answers 400"),
        ({"AWS_REGION": ""}, "no region"),
        ({"AWS_ACCESS_KEY_ID": ""}, "no credentials"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "cannot read"),
        ({"AWS_ENDPOINT_URL": "file:///etc/passwd"}, "cannot read"),
    ],
)
def test_a_secret_that_cannot_be_read_is_told_without_secrets(
    aws: dict[str, str], change: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidInput, match=why) as told:
        read_tokens({**aws, AWS: "graph-tokens", **change})
    assert told.value.code == "token.unreadable"
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in str(told.value)
