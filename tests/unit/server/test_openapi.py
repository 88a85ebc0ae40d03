"""The document: true to the code, complete, and true to what the server does."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks, not_a_server_error
from tests.unit.server.conftest import TOKENS

from omnigraph.server.openapi import document_text, make_document
from omnigraph.server.routes import OPERATIONS

if TYPE_CHECKING:
    import httpx

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"
load_all_checks()


def test_the_kept_document_is_what_the_code_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document_text(OPERATIONS), (
        "run: python -m omnigraph.server > docs/openapi.json"
    )


def test_the_document_is_served_to_anybody(policed: httpx.Client) -> None:
    answer = policed.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.json() == json.loads(DOCUMENT.read_text(encoding="utf-8"))


def test_every_operation_has_an_id_of_its_own_and_says_what_it_does() -> None:
    ids = [each.id for each in OPERATIONS]
    assert len(set(ids)) == len(ids)
    assert all(each.summary.endswith(".") for each in OPERATIONS)


def test_every_reference_leads_somewhere() -> None:
    document = make_document(OPERATIONS)
    parts = document["components"]
    known = {*parts["schemas"], *parts["responses"]}

    def references(tree: Any) -> Any:
        if isinstance(tree, dict):
            if "$ref" in tree:
                yield tree["$ref"].rpartition("/")[2]
            for value in tree.values():
                yield from references(value)
        elif isinstance(tree, list):
            for value in tree:
                yield from references(value)

    assert set(references(document)) <= known


# --- requests that nobody would think of -------------------------------------------------------


@schemathesis.serializer("application/x-ndjson")
def serialize_lines(_: schemathesis.SerializationContext, value: Any) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value)).encode()


CHECKED = [
    not_a_server_error,
    *CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
            "negative_data_rejection",
        ]
    ),
]


def ask_everything(
    client: httpx.Client, token: str | None, mode: GenerationMode, *, examples: int
) -> dict[int, int]:
    """Ask every operation some made-up questions; how often each status came."""
    document = make_document(OPERATIONS, secured=True)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=str(client.base_url))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    statuses: Counter[int] = Counter()
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        if mode is GenerationMode.NEGATIVE and operation.path.endswith("/load/ndjson"):
            # To the document its body is any text.
            continue

        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            if "graph_id" in (case.path_parameters or {}):
                case.path_parameters["graph_id"] = "people"
            if mode is GenerationMode.POSITIVE and case.headers:
                # A millisecond is a deadline that may well pass, and says so with 504.
                case.headers.pop("Omnigraph-Deadline-Ms", None)
            answer = case.call_and_validate(headers=headers, checks=CHECKED)
            statuses[answer.status_code] += 1

        # What takes nothing cannot be asked wrongly.
        with contextlib.suppress(Unsatisfiable):
            ask()
    return statuses


EXAMPLES = [pytest.param(4, id="few"), pytest.param(100, id="many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_made_up_requests_of_somebody_who_may_everything_are_answered_as_documented(
    policed: httpx.Client, mode: GenerationMode, examples: int
) -> None:
    statuses = ask_everything(policed, TOKENS["ada"], mode, examples=examples)
    assert statuses[200 if mode is GenerationMode.POSITIVE else 400] > 0


@pytest.mark.parametrize(
    ("token", "examples"),
    [
        pytest.param(None, 2, id="none-few"),
        pytest.param("nonsense", 2, id="wrong-few"),
        pytest.param(None, 100, id="none-many", marks=pytest.mark.slow),
        pytest.param("nonsense", 100, id="wrong-many", marks=pytest.mark.slow),
    ],
)
def test_made_up_requests_without_a_known_token_learn_nothing(
    policed: httpx.Client, token: str | None, examples: int
) -> None:
    statuses = ask_everything(policed, token, GenerationMode.POSITIVE, examples=examples)
    assert set(statuses) <= {200, 400, 401, 404}
    assert statuses[401] > statuses[200]
