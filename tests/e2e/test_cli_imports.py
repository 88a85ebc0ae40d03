"""What a command line may load before it answers: the start-up budget, as lists of modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

STORAGE = {"lance", "pyarrow", "numpy", "obstore", "pandas"}
NEVER = {"pyspark", "py4j", "rich", "starlette", "uvicorn", "msgspec", "mcp"}


def modules_loaded_by(*arguments: str) -> set[str]:
    """The top-level modules and our own ones that a command line imports."""
    script = (
        "import sys\n"
        "from omnigraph.cli.main import main\n"
        "code = main()\n"
        "import gc; assert gc.get_freeze_count(), 'the end would search all that was loaded'\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    names = set(done.stderr.split())
    return {name for name in names if "." not in name or name.startswith("omnigraph.")}


@pytest.mark.parametrize("asked", ["--version", "version", "--help"])
def test_version_and_help_load_almost_nothing(asked: str) -> None:
    bare = set(
        subprocess.run(
            [sys.executable, "-c", "import sys; print('\\n'.join(sys.modules))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )
    assert (
        modules_loaded_by(asked) - bare
        == {
            "__future__",
            "gc",
            "importlib",
            "warnings",
            "omnigraph",
            "omnigraph.cli",
            "omnigraph.cli.main",
            "omnigraph.cli.verbs",
        }
        - bare
    )


def test_importing_the_package_loads_almost_nothing() -> None:
    script = "import sys, omnigraph; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not (STORAGE | NEVER | {"click", "typing"}) & set(done.stdout.split())


@pytest.mark.parametrize("verb", ["query", "mutate", "init", "log", "schema", "lint"])
def test_help_of_a_verb_loads_no_storage(verb: str) -> None:
    loaded = modules_loaded_by(verb, "--help")
    assert not (STORAGE | NEVER) & loaded
    assert {name for name in loaded if name.startswith("omnigraph.cli.commands.")} == {
        f"omnigraph.cli.commands.{verb}"
    }


def test_a_query_loads_what_answers_it_and_no_other_verb(people_graph: object) -> None:
    query = "query names() { match { $p: Person } return { $p.name } }"
    loaded = modules_loaded_by("query", "-e", query, "--store", str(people_graph))
    assert not (NEVER | {"cedarpy", "datafusion", "duckdb", "polars", "httpx", "yaml"}) & loaded
    assert "lance" in loaded
    others = {
        f"omnigraph.{package}"
        for package in (
            *("server", "pipeline", "testing", "notebook", "writer", "integrity", "adapters.cedar"),
            *("client.remote", "executor.search", "language.pg"),
            *("catalog.build", "catalog.diff", "catalog.merge", "policy.bundle"),
        )
    }
    assert not {one for one in loaded if any(f"{one}.".startswith(f"{no}.") for no in others)}
    assert {one for one in loaded if one.startswith("omnigraph.session.")} == {
        f"omnigraph.session.{part}"
        for part in ("engine", "prepared_queries", "query", "running_operations")
    }
