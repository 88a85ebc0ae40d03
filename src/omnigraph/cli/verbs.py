"""The verbs and the help of the program, as data: imported before anything else is."""

from __future__ import annotations

__all__ = ["HELP", "INTERNAL_SCHEMA_VERSION", "VERBS", "version_text"]

# The newest format that this build writes; a test holds it equal to versioning.stamp.FORMAT, which
# would cost 25 ms to import.
INTERNAL_SCHEMA_VERSION = 2

_SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Start",
        (
            ("new", "start a project in a directory"),
            ("init", "create a graph from a schema"),
            ("status", "what a graph is, and what needs attention"),
            ("schema", "show, plan, apply, draft a schema"),
            ("clone", "copy a graph, or bring a copy up to date"),
            ("serve", "serve graphs over HTTP"),
        ),
    ),
    (
        "Read and write",
        (
            ("shell", "ask and change at a prompt"),
            ("query", "answer a read query"),
            ("explain", "how a read query would be answered"),
            ("profile", "what each step of a read query costs"),
            ("mutate", "run a mutation as one commit"),
            ("index", "build indexes, see what they cover"),
            ("load", "load many entities as one commit"),
            ("export", "write nodes and edges out"),
            ("blob", "read a blob, whole or in part"),
        ),
    ),
    (
        "History",
        (
            ("branch", "create, list, merge, reset, delete branches"),
            ("tag", "create, list and delete tags"),
            ("commit", "list and show commits and their changes"),
            ("log", "the history of a branch, or a graph of all"),
            ("show", "one commit and what it changed"),
            ("diff", "what differs between two targets"),
            ("blame", "the commits that changed one entity"),
            ("changes", "follow what changes on a branch"),
            ("revert", "undo what one commit did"),
            ("cherry-pick", "do what one commit did elsewhere"),
            ("snapshot", "the dataset versions behind a target"),
            ("recovery", "what recovery did and left alone"),
        ),
    ),
    (
        "Text",
        (
            ("lint", "check queries against a schema"),
            ("policy", "check, test and explain a policy"),
            ("fmt", "format .pg and .gq files"),
        ),
    ),
    (
        "Servers",
        (
            ("graphs", "the graphs of a server"),
            ("queries", "the stored queries of a server"),
            ("alias", "ask a stored query by a short name"),
            ("login", "keep the token of a server"),
            ("logout", "forget it"),
            ("profiles", "the named addresses"),
        ),
    ),
    (
        "Program",
        (
            ("doctor", "check this machine and a graph"),
            ("completion", "make a shell complete verbs and flags"),
            ("version", "release and internal schema version"),
        ),
    ),
)

# Every verb is the module of the same name in ``cli.commands``, ``-`` spelled ``_``.
VERBS: dict[str, str] = {verb: summary for _, verbs in _SECTIONS for verb, summary in verbs}

_COLUMN = max(map(len, VERBS)) + 2

HELP = "\n".join(
    [
        "Usage: omnigraph [OPTIONS] VERB [ARGS]...",
        "",
        "A typed property graph on Lance, versioned like Git.",
        *(
            line
            for title, verbs in _SECTIONS
            for line in (
                f"\n{title}:",
                *(f"  {verb:<{_COLUMN}}{summary}" for verb, summary in verbs),
            )
        ),
        "",
        "Options, before or after the verb:",
        "  --store URI    the graph: a path, file:// or s3://",
        "  --server URL   a server: address or configured name",
        "  --graph ID     which graph of the server",
        "  --profile NAME a named address",
        "  --as ACTOR     who writes",
        "  --yes          destroy without asking",
        "  --json         answer in JSON",
        "  --quiet        no remarks on stderr",
        "  -v, --version  print release and format",
        "  -h, --help     print this, or help of a verb",
        "",
        "Environment:",
        "  OMNIGRAPH_STORE    the graph, if no option says",
        "  OMNIGRAPH_PROFILE  the profile, likewise",
        "  OMNIGRAPH_HOME     where config.yaml is",
        "  OMNIGRAPH_BEARER_TOKEN  the token for a server",
        "  OMNIGRAPH_DEBUG    1 prints tracebacks",
        "  NO_COLOR           no colours",
        "",
        "omnigraph VERB --help explains a verb, with examples.",
    ]
)


def version_text(release: str) -> str:
    """Two lines: which release this is, and which format it writes."""
    return f"omnigraph {release}\ninternal-schema {INTERNAL_SCHEMA_VERSION}"
