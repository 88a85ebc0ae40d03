"""Memory of an agent, on branches: it writes what it believes aside, and a person decides.

Every session of the agent is a branch. What it learned is looked at as a difference, merged when it
is right and thrown away when it is not; what was believed at any time can be asked for later.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import omnigraph
from omnigraph import Graph

if TYPE_CHECKING:
    from omnigraph.api.graph import GraphAt

SCHEMA = """\
node Subject {
    name: String @key
}

node Belief {
    id_in_session: String @key
    text: String @index
    confidence: F64
}

edge About: Belief -> Subject {
    @key(src, dst)
}
"""

QUERIES = """\
query believe($key: String, $subject: String, $text: String, $confidence: F64) {
    insert Subject { name: $subject }
    insert Belief { id_in_session: $key, text: $text, confidence: $confidence }
    insert About { from: $key, to: $subject }
}

query recall($subject: String) {
    match {
        $b about $s
        $s.name = $subject
    }
    return { $b.text as text, $b.confidence as confidence }
    order { confidence desc, text }
}
"""


def main(place: Path) -> None:
    with omnigraph.init(place / "memory.omni", SCHEMA, actor="agent") as memory:
        learn(memory, "main", "fact-1", "Berlin", "It is the capital of Germany.", 0.99)
        memory.tags.create("before-monday")

        first = session(memory, "session/monday")
        learn(memory, first, "fact-2", "Berlin", "It has about 3.7 million inhabitants.", 0.9)
        second = session(memory, "session/tuesday")
        learn(memory, second, "fact-3", "Berlin", "It lies at the sea.", 0.4)

        for branch in (first, second):
            say(f"\n{branch} would add:")
            for change in memory.diff("main", branch, types=["Belief"]):
                say(
                    f"  {change.op.name.lower()} {change.id}: {recall(memory.at(branch), 'Berlin')}"
                )

        say(f"\nMonday is right: {memory.merge(first, actor='ada', message='checked')!r}")
        memory.branches.delete(second)
        say("Tuesday is forgotten.")

        say(f"\nNow: {recall(memory, 'Berlin')}")
        say(f"Before Monday: {recall(memory.at('before-monday'), 'Berlin')}")
        for entry in memory.blame("Belief", "fact-2").to_json()["history"]:
            say(f"fact-2 came with {entry['cause']['graph_commit_id']}")


def session(memory: Graph, name: str) -> str:
    memory.branches.create(name)
    return name


def learn(memory: Graph, branch: str, key: str, subject: str, text: str, confidence: float) -> None:
    params = {"key": key, "subject": subject, "text": text, "confidence": confidence}
    memory.mutate(QUERIES, params, name="believe", branch=branch)


def recall(memory: GraphAt, subject: str) -> list[str]:
    found = memory.query(QUERIES, {"subject": subject}, name="recall")
    return [str(row["text"]) for row in found]


def say(text: str) -> None:
    print(text)  # noqa: T201 - an example talks


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
