"""Who asks: sources of tokens, what is kept of them, and the states of a server."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import InvalidInput
from omnigraph.server.app import choose_access
from omnigraph.server.service import Access
from omnigraph.server.tokens import Tokens, read_tokens

if TYPE_CHECKING:
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
    reachable, waiting = set(), [tokens]
    while waiting:
        found = waiting.pop()
        if id(found) in reachable or isinstance(found, type):
            continue
        reachable.add(id(found))
        assert found not in (secret, secret.encode())
        waiting += [each for each in gc.get_referents(found) if not callable(each)]
    assert tokens.actor_of(b"Bearer " + secret.encode()) == "ada"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read") as told:
        read_tokens({FILE: str(tmp_path / "nope")})
    assert told.value.code == "token.unreadable"


@pytest.mark.parametrize(
    ("tokens", "policy", "unauthenticated", "outcome"),
    [
        (False, False, True, Access.OPEN),
        (True, False, False, Access.DEFAULT_DENY),
        (True, True, False, Access.POLICY),
        (False, False, False, "serve.no_tokens"),
        (False, True, False, "serve.policy_without_tokens"),
        (False, True, True, "serve.policy_without_tokens"),
        (True, False, True, "serve.tokens_ignored"),
        (True, True, True, "serve.tokens_ignored"),
    ],
)
def test_the_state_follows_from_tokens_and_policy(
    tokens: bool, policy: bool, unauthenticated: bool, outcome: Access | str
) -> None:
    if isinstance(outcome, Access):
        assert (
            choose_access(tokens=tokens, policy=policy, unauthenticated=unauthenticated) is outcome
        )
        return
    with pytest.raises(InvalidInput) as told:
        choose_access(tokens=tokens, policy=policy, unauthenticated=unauthenticated)
    assert told.value.code == outcome
    assert told.value.remedy
