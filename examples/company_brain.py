"""A company's documents: found by words, by meaning and by who knows what, in one query.

The embedder here counts letters in threes: enough to run anywhere, not enough for real use. Hand
``omnigraph.open(…, embedder=…)`` one that asks your model.
"""

from __future__ import annotations

import math
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import omnigraph
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

DIMENSIONS = 64
SCHEMA = f"""\
node Person {{
    handle: String @key
    team: String
}}

node Document {{
    slug: String @key
    title: String
    body: String @index
    meaning: Vector({DIMENSIONS})? @index @embed("body", model="letters")
}}

edge Wrote: Person -> Document {{
    @key(src, dst)
}}

edge Cites: Document -> Document {{
    @key(src, dst)
}}
"""

QUERIES = """\
query ask($question: String, $team: String?) {
    match {
        $p wrote $d
        ($team is null or $p.team = $team)
    }
    return { $d.title as title, $p.handle as author }
    order { rrf(nearest($d.meaning, $question), bm25($d.body, $question)) desc }
    limit 3
}

query phrase($words: String) {
    match {
        $d: Document
        match_text($d.body, $words)
    }
    return { $d.title as title }
    order { title }
}

query cited_by_storage() {
    match {
        $p wrote $citing
        $citing cites $d
        $p.team = "storage"
    }
    return { $d.title as title, count($citing) as times }
    order { times desc, title }
}

query experts($question: String) {
    match {
        $p wrote $d
        search($d.body, $question)
    }
    return { $p.handle as who, count($d) as documents }
    order { documents desc, who }
}
"""

PEOPLE = {"ada": "storage", "bo": "billing", "cy": "storage"}
DOCUMENTS = [
    ("backup", "How we back up", "Backups of every database run at night and are tested.", "ada"),
    ("restore", "Restoring a database", "Restore the newest backup, then replay the log.", "cy"),
    ("invoice", "Invoices", "An invoice is sent on the first day of a month.", "bo"),
    ("refund", "Refunds", "A refund is paid to the card of the customer.", "bo"),
    ("disks", "Disks that fail", "A failing disk is replaced before data is lost.", "ada"),
]
CITATIONS = [("restore", "backup"), ("disks", "backup"), ("refund", "invoice")]


class Letters:
    """Texts as counts of their letters in threes, hashed to a fixed number of dimensions."""

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: str
    ) -> list[list[float]]:
        # The texts of rows and of queries have vectors of one kind.
        del task
        if model != "letters" or dim != DIMENSIONS:
            raise InvalidInput("embed.model", f"there is no model {model!r} of {dim} dimensions")
        return [vector_of(text) for text in texts]


def vector_of(text: str) -> list[float]:
    letters = f" {text.lower()} "
    counts = Counter(letters[at : at + 3] for at in range(len(letters) - 2))
    vector = [0.0] * DIMENSIONS
    for gram, count in counts.items():
        vector[zlib.crc32(gram.encode()) % DIMENSIONS] += count
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


def main(place: Path) -> None:
    brain = omnigraph.init(place / "brain.omni", SCHEMA, actor="importer", embedder=Letters())
    with brain:
        loaded = brain.load(records(), mode="merge", message="the wiki")
        say(repr(loaded))
        question = "how do I get data back from a backup"
        for team in (None, "storage"):
            say(f"\n{question!r}, {'anybody' if team is None else 'team ' + team}:")
            found = brain.query(QUERIES, {"question": question, "team": team}, name="ask")
            for row in found:
                say(f"  {row['title']} ({row['author']})")
        exact = brain.query(QUERIES, {"words": "failing disk"}, name="phrase")
        say(f"\n'failing disk', word for word: {[row['title'] for row in exact]}")
        cited = brain.query(QUERIES, name="cited_by_storage")
        say(f"What the storage team builds on: {cited.rows()}")
        asked = brain.query(QUERIES, {"question": "invoice refund"}, name="experts")
        say(f"Who knows about money: {asked.rows()}")


def records() -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {"type": "Person", "data": {"handle": who, "team": team}} for who, team in PEOPLE.items()
    ]
    found += [
        {
            "type": "Document",
            "data": {"slug": slug, "title": title, "body": body, "meaning": vector_of(body)},
        }
        for slug, title, body, _ in DOCUMENTS
    ]
    found += [{"edge": "Wrote", "from": who, "to": slug} for slug, _, _, who in DOCUMENTS]
    found += [{"edge": "Cites", "from": one, "to": other} for one, other in CITATIONS]
    return found


def say(text: str) -> None:
    print(text)  # noqa: T201 - an example talks


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
