"""Define the table of verbs and the help text, without imports."""

from __future__ import annotations

__all__ = ["HELP", "INTERNAL_SCHEMA_VERSION", "VERBS", "version_text"]

# The storage format that this release writes. A test compares it with versioning.stamp.FORMAT,
# whose import takes 25 ms.
INTERNAL_SCHEMA_VERSION = 3

_SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Start",
        (
            ("new", "start a project in a directory"),
            ("init", "create a graph from a schema"),
            ("status", "show size and state of a graph"),
            ("schema", "show, plan, apply or infer a schema"),
            ("clone", "copy a graph, or update a copy"),
            ("serve", "serve graphs over HTTP"),
        ),
    ),
    (
        "Read and write",
        (
            ("shell", "start an interactive shell"),
            ("query", "run a read query"),
            ("explain", "show the plan of a read query"),
            ("profile", "measure each operator of a read query"),
            ("mutate", "run a mutation as one commit"),
            ("index", "build and list indexes"),
            ("load", "load files as one commit"),
            ("export", "export nodes and edges"),
            ("blob", "read a blob"),
            ("embed", "embed texts of a graph, or of files"),
        ),
    ),
    (
        "History",
        (
            ("branch", "create, list, merge, reset, delete branches"),
            ("tag", "create, list and delete tags"),
            ("commit", "list and show commits and their changes"),
            ("log", "show the history of a branch, or the graph"),
            ("show", "show one commit and its changes"),
            ("diff", "compare two targets"),
            ("blame", "list the commits that changed an entity"),
            ("changes", "follow the changes of a branch"),
            ("revert", "undo one commit"),
            ("cherry-pick", "apply one commit to a branch"),
            ("snapshot", "list the dataset versions of a target"),
            ("recovery", "list recovered and unfinished writes"),
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
            ("cluster", "plan and apply graphs declared in a file"),
            ("graphs", "list the graphs of a server"),
            ("queries", "list the stored queries of a server"),
            ("alias", "run a stored query by a short name"),
            ("login", "store the token of a server"),
            ("logout", "delete the token of a server"),
            ("profiles", "list the named addresses"),
        ),
    ),
    (
        "Program",
        (
            ("doctor", "check this machine and a graph"),
            ("completion", "print the completion script of a shell"),
            ("version", "print release and internal schema version"),
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
        "  --graph ID     a graph of the server",
        "  --profile NAME a named address",
        "  --as ACTOR     the actor of the commit",
        "  --yes          skip the confirmation",
        "  --json         print JSON",
        "  --quiet        no notices on stderr",
        "  -v, --version  print release and format",
        "  -h, --help     print this, or help of a verb",
        "",
        "Environment:",
        "  OMNIGRAPH_STORE    the default graph",
        "  OMNIGRAPH_PROFILE  the default profile",
        "  OMNIGRAPH_HOME     the directory of config.yaml",
        "  OMNIGRAPH_BEARER_TOKEN  the token for a server",
        "  OMNIGRAPH_DEBUG    1 prints tracebacks",
        "  NO_COLOR           no colours",
        "",
        "omnigraph VERB --help explains a verb, with examples.",
    ]
)


def version_text(release: str) -> str:
    """Return two lines: the release and its storage format."""
    return f"omnigraph {release}\ninternal-schema {INTERNAL_SCHEMA_VERSION}"
