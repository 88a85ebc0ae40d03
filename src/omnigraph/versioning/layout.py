"""Where everything lies under the root of a graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.versioning.names import encode_name

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityKind

__all__ = [
    "AUDIT",
    "CLONE_MARKER",
    "DELETED",
    "HEAL_CLAIMS",
    "INIT_CLAIMS",
    "LINEAGE_TABLE",
    "OBJECT_PREFIXES",
    "OWNED_PREFIXES",
    "RECOVERY",
    "STAMP",
    "WRITE_LEASES",
    "audit_row",
    "branch_ref",
    "branch_refs",
    "init_claim",
    "init_number",
    "is_branch_ref",
    "lease_queue",
    "lease_ticket",
    "manifest",
    "manifest_hint",
    "manifest_number",
    "manifest_path",
    "schema_object",
    "table_path",
    "tag_ref",
    "write_lease",
]

STAMP = "_graph.json"
# Exists while a copy of a graph is being made, and names the source.
CLONE_MARKER = "_clone.json"
# The tombstone of a deleted graph; contains its stamp.
DELETED = "_deleted.json"
INIT_CLAIMS = "_init"
RECOVERY = "__recovery"
WRITE_LEASES = "__locks/write"
HEAL_CLAIMS = "__locks/heal"
LINEAGE_TABLE = "_graph_commits.lance"
AUDIT = "_recoveries"
BRANCHES = "_refs/branches"
TAGS = "_refs/tags"
MANIFESTS = "__manifest"

_MANIFEST = re.compile(rf"{MANIFESTS}/[^/]+/([0-9]{{10,}})\.json")
_BRANCH_REF = re.compile(rf"{BRANCHES}/[^/]+/[0-9]{{8,}}\.json")

# Everything that a graph owns below its root: what ``init --force`` may sweep away.
OWNED_PREFIXES = (
    "_refs",
    MANIFESTS,
    "_schema",
    "nodes",
    "edges",
    RECOVERY,
    "__locks",
    LINEAGE_TABLE,
    AUDIT,
    "_topology",
)

# Where small objects lie, the directories with most of them last: a search may end before.
OBJECT_PREFIXES = (
    *("", RECOVERY, "__locks", INIT_CLAIMS, TAGS, BRANCHES, "_schema", AUDIT),
    MANIFESTS,
)


def branch_refs(encoded: str) -> str:
    """The directory of one branch's numbered refs."""
    return f"{BRANCHES}/{encoded}"


def branch_ref(encoded: str, number: int) -> str:
    """One numbered ref; zero-padded so that keys sort as numbers do."""
    return f"{BRANCHES}/{encoded}/{number:08d}.json"


def is_branch_ref(key: str) -> bool:
    """Whether a key has the form of a numbered ref."""
    return _BRANCH_REF.fullmatch(key) is not None


def init_claim(number: int) -> str:
    return f"{INIT_CLAIMS}/{number:08d}.json"


def init_number(claim: str) -> int:
    return int(claim.removeprefix(f"{INIT_CLAIMS}/").removesuffix(".json"))


def write_lease(branch: str) -> str:
    """The write lease of a branch, given by its name."""
    return f"{WRITE_LEASES}/{encode_name(branch)}.json"


def lease_queue(branch: str) -> str:
    """The directory of the tickets for the write lease of a branch."""
    return f"{WRITE_LEASES}/{encode_name(branch)}"


def lease_ticket(branch: str, ticket: str) -> str:
    return f"{lease_queue(branch)}/{ticket}.json"


def tag_ref(encoded: str) -> str:
    return f"{TAGS}/{encoded}.json"


def audit_row(operation: str) -> str:
    """The audit of one recovered operation. Earlier formats audited files, too, by their keys."""
    return f"{AUDIT}/{operation.replace('/', '%2F')}.json"


def manifest_path(incarnation: str) -> str:
    return f"{MANIFESTS}/{incarnation}"


def manifest(incarnation: str, number: int) -> str:
    """One manifest; zero-padded so that keys sort as numbers do."""
    return f"{MANIFESTS}/{incarnation}/{number:010d}.json"


def manifest_number(key: str) -> int:
    """The number of a manifest; 0 for any other key."""
    found = _MANIFEST.fullmatch(key)
    return int(found[1]) if found is not None else 0


def manifest_hint(incarnation: str) -> str:
    """A number that the branch had once: where the search for its newest one starts."""
    return f"{MANIFESTS}/{incarnation}/hint"


def schema_object(digest: str) -> str:
    return f"_schema/{digest}.json"


def table_path(kind: EntityKind, type_id: str, incarnation: str) -> str:
    return f"{kind.value}s/{type_id}-{incarnation}"
