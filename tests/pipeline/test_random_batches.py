"""Generated batches, right and wrong, to both engines: verdicts and graphs are equal."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.pipeline.spark_load import SparkLoadOptions
from omnigraph.testing.engine_parity import Twins

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SAMPLED, WHOLE = 16, 1_000
_KNOWN = [f"n{n}" for n in range(8)]
_NAMES = [*_KNOWN, *_KNOWN, *_KNOWN, "n8", "n9"]
_MAILS = [None, None, None, "a@x", "b@x", "c@x"]


class Batches:
    """Batches of a few records each, made so that some are right, most break a rule or two, and
    batches build on each other."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def mode(self) -> str:
        return self._random.choice(["append", "merge", "merge", "overwrite"])

    def records(self, mode: str) -> list[Any]:
        # Half of the batches hold nothing that cannot be read: only then all rules are checked.
        is_dirty = self._random.random() < 0.3
        makers = [self._person, self._person, self._place, self._note, self._knows, self._lives]
        makers += [self._mentions] + ([self._gone] if mode == "merge" else [])
        # Few kinds at a time: what breaks a rule hides what else would.
        chosen = self._random.sample(makers, self._random.randint(1, 3))
        chosen += [self._broken] if is_dirty else []
        count = self._random.randint(1, 9)
        return [self._random.choice(chosen)() for _ in range(count)]

    @staticmethod
    def first() -> list[Any]:
        """What the others build on."""
        people = [{"type": "Person", "data": {"name": name}} for name in _KNOWN]
        places = [
            {"type": "Place", "data": {"country": country, "zip": code}}
            for country in ("no", "se")
            for code in (1, 2)
        ]
        note = {"type": "Note", "id": "k1", "data": {"text": "one"}}
        return [*people, *places, note, {"edge": "Mentions", "id": "m1", "from": "k1", "to": "n1"}]

    def _person(self) -> dict[str, Any]:
        pick = self._random.choice
        data = {
            "name": pick(_NAMES),
            "mail": pick(_MAILS),
            "age": pick([None, 1, 2, 3, 150, pick([7, 7, 7, 151])]),
            "mood": pick([None, "glad", pick(["sad", "sad", "angry"])]),
            "code": pick([None, "ab", pick(["abc", "abc", "X"])]),
            "score": pick([None, 0.0, -0.0, 1.5]),
        }
        kept = {
            key: value for key, value in data.items() if value is not None or pick([True, False])
        }
        return {"type": "Person", "data": kept}

    def _place(self) -> dict[str, Any]:
        country, code = self._random.choice(["no", "se"]), self._random.randint(1, 3)
        return {"type": "Place", "data": {"country": country, "zip": code}}

    def _note(self) -> dict[str, Any]:
        pick = self._random.choice
        data: dict[str, Any] = {"text": pick(["one", "two", "three", "four"])}
        if pick([True, False]):
            data["embedding"] = pick([[1, 2, 3], [0, 0, 1], [1, 2]])
        if pick([True, False]):
            data["tags"] = pick([[], ["a"], ["a", "b"], ["a", None]])
        return {"type": "Note", "id": pick(["k1", "k2", "k3"]), "data": data}

    def _knows(self) -> dict[str, Any]:
        pick = self._random.choice
        body = {"edge": "Knows", "from": pick(_NAMES), "to": pick(_NAMES), "data": {}}
        return {**body, "id": pick(["e1", "e2", "e3", "e4"])}

    def _lives(self) -> dict[str, Any]:
        pick = self._random.choice
        place = f'["{pick(["no", "se"])}","{self._random.randint(1, 3)}"]'
        return {"edge": "LivesIn", "from": pick(_NAMES), "to": place}

    def _mentions(self) -> dict[str, Any]:
        pick = self._random.choice
        body = {"edge": "Mentions", "from": pick(["k1", "k2", "k3"]), "to": pick(_NAMES)}
        return {**body, "id": pick(["m1", "m2"]), "data": {"weight": pick([None, 1, 2**64 - 1])}}

    def _gone(self) -> dict[str, Any]:
        pick = self._random.choice
        name, ids = pick([("Person", _NAMES), ("Note", ["k1", "k2"]), ("Knows", ["e1", "e2"])])
        return {"delete": name, "id": pick(ids)}

    def _broken(self) -> Any:
        return self._random.choice(
            [
                "{",
                "[1]",
                {"type": "Nobody", "data": {}},
                {"type": "Person", "data": {"name": 7}},
                {"type": "Person", "data": {"name": "x", "extra": 1}},
                {"edge": "Knows", "from": "n1"},
            ]
        )


def compare(twins: Twins, seed: int, count: int) -> None:
    batches = Batches(seed)
    assert twins.load(twins.write("first.ndjson", *batches.first()), "append").ending == "done"
    endings = []
    for number in range(count):
        mode = batches.mode()
        path = twins.write(f"{seed}-{number}.ndjson", *batches.records(mode))
        try:
            endings.append(twins.load(path, mode).ending)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, batch {number}, mode {mode}: {error}") from error
    assert "done" in endings, "no batch was right"
    assert any(ending != "done" for ending in endings), "no batch was wrong"


def test_both_engines_judge_generated_batches_alike(tmp_path: Path, spark: SparkSession) -> None:
    twins = Twins(tmp_path, spark)
    # Small pieces, so that rules meet records of several of them.
    twins.order = SparkLoadOptions(split_bytes=200, chunk_bytes=300)
    compare(twins, seed=20_261_116, count=SAMPLED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_both_engines_judge_a_thousand_batches_alike(
    tmp_path: Path, spark: SparkSession, seed: int
) -> None:
    compare(Twins(tmp_path, spark), seed, WHOLE // 20)
