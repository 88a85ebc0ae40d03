"""``omnigraph new``."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import click

from omnigraph.cli.invocation import Invocation, verb
from omnigraph.errors import AlreadyExists, InvalidInput

__all__ = ["command"]

_FILES = ("README.md", "schema.pg", "queries.gq", "data.jsonl")


@verb("new", stored=False, examples=("omnigraph new my-graph",))
@click.argument("directory", metavar="DIR")
@click.pass_obj
def command(call: Invocation, directory: str) -> None:
    """Start a project in DIR: a schema, queries, sample data and a README with next steps."""
    project = Path(directory)
    starter = resources.files("omnigraph.cli") / "starter"
    texts = {name: (starter / name).read_text(encoding="utf-8") for name in _FILES}
    try:
        if project.exists() and (not project.is_dir() or any(project.iterdir())):
            raise AlreadyExists(
                "file.exists",
                f"{directory} already exists and is not empty",
                remedy="choose another directory",
            )
        project.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (project / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidInput(
            "file.unwritable", f"cannot write {directory}: {error.strerror or error}"
        ) from error
    call.print_result(
        {"directory": directory, "files": [*_FILES]},
        [f"wrote {os.path.join(directory, name)}" for name in _FILES]  # noqa: PTH118 - as given by the user
        + [f"\nnext: cd {directory}, and see README.md"],
    )
