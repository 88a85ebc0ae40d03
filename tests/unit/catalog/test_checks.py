"""Every rule of a schema broken, with the message that a person sees.

The cases live in one file, each with its text and what is said about it. After a deliberate change
run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.catalog.build import build_catalog, schema_warnings
from omnigraph.catalog.checks import CHECKS
from omnigraph.catalog.codes import MEANINGS, MigrationCode, SchemaCode
from omnigraph.errors import SchemaFailure
from omnigraph.language.diagnostics import Severity
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.golden_cases import read_cases, update_cases

GOLDEN = Path(__file__).parents[2] / "corpus" / "pg" / "checks.golden"


def failure_of(text: str) -> SchemaFailure:
    source = Source(text, "schema.pg")
    document = parse_schema(source)
    with pytest.raises(SchemaFailure) as caught:
        build_catalog(document, source)
    return caught.value


CASES = read_cases(GOLDEN)


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    update_cases(GOLDEN, lambda text: failure_of(text).message)


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_reported_with_place_code_and_remedy(name: str) -> None:
    text, expected = CASES[name]
    assert failure_of(text).message == expected


def test_every_error_has_a_remedy_and_every_code_is_shown() -> None:
    codes = set()
    for text, _ in CASES.values():
        for found in failure_of(text).details["diagnostics"]:
            assert found["remedy"]
            codes.add(found["code"])
    # Texts that are too large are not kept in a file, and a rename needs two schemas.
    assert codes == set(SchemaCode) - {
        SchemaCode.TOO_LARGE,
        SchemaCode.PROBABLE_MISSPELLING,
        SchemaCode.RENAME_ONTO_KNOWN,
        SchemaCode.RENAME_OF_NOTHING,
    }


def test_every_code_has_a_meaning_and_every_check_is_registered_once() -> None:
    assert set(MEANINGS) == {*SchemaCode, *MigrationCode}
    assert len(CHECKS) == len(set(CHECKS))


def test_an_unknown_annotation_is_kept_and_a_misspelt_one_is_warned_about() -> None:
    text = "node Person @team(7) { name: String @indx @searchable }"
    source = Source(text, "schema.pg")
    document = parse_schema(source)
    catalog = build_catalog(document, source)
    person = catalog.nodes[0]
    assert person.annotations.get("team") == (7,)
    assert person.properties[0].annotations.get("searchable") == ()
    [warning] = schema_warnings(document)
    assert warning.code == SchemaCode.PROBABLE_MISSPELLING
    assert warning.severity is Severity.WARNING
    assert warning.remedy == "did you mean `index`?"
