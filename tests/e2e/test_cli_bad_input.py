"""The world as it is: closed pipes, Ctrl-C, narrow terminals, odd encodings, foreign graphs."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

Omnigraph = Callable[..., subprocess.CompletedProcess[str]]

NAMES = (
    "query names() { match { $p: Person } return { $p.name as name, $p.born as born, $p as all } }"
)
ADD = 'query add() { insert Person { name: "Alan" } }'


def test_a_failure_is_one_line_with_a_code_and_one_with_a_remedy(
    run_omnigraph: Omnigraph, tmp_path: Path
) -> None:
    done = run_omnigraph("status", tmp_path / "none.omni", "--json")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error [graph.missing] there is no graph at {tmp_path / 'none.omni'}",
        "help: create one with `omnigraph init URI --schema FILE`",
    ]
    assert json.loads(done.stdout)["code"] == "graph.missing"


def test_a_graph_of_a_newer_format_is_refused(run_omnigraph: Omnigraph, people_copy: Path) -> None:
    stamp = people_copy / "_graph.json"
    body = json.loads(stamp.read_text(encoding="utf-8"))
    stamp.write_text(json.dumps({**body, "internal_schema_version": 99}), encoding="utf-8")
    for verb in (("query", "-e", NAMES), ("mutate", "-e", ADD)):
        done = run_omnigraph(*verb, "--store", people_copy)
        assert done.returncode == 1
        assert "[graph.newer_format]" in done.stderr
        assert "help: upgrade first" in done.stderr


def test_a_file_where_a_directory_should_be_is_told(
    run_omnigraph: Omnigraph, people_schema: Path, tmp_path: Path
) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("not a directory", encoding="utf-8")
    for place in (occupied, occupied / "graph.omni"):
        done = run_omnigraph("init", place, "--schema", people_schema)
        assert done.returncode == 1
        assert done.stderr.startswith("error [storage.")
        assert "internal error" not in done.stderr
        assert "Traceback" not in done.stderr
    assert occupied.read_text(encoding="utf-8") == "not a directory"


@pytest.mark.parametrize("arguments", [("--help",), ("log",), ("query", "-e", NAMES, "--json")])
def test_a_reader_that_has_gone_is_no_failure(
    run_omnigraph: Omnigraph, people_graph: Path, arguments: tuple[str, ...]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_omnigraph(*arguments, env={"OMNIGRAPH_STORE": str(people_graph)}, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_line_is_enough_for_head(
    omnigraph_command: str, plain_environment: dict[str, str], people_graph: Path
) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{omnigraph_command} log {people_graph} | head -1"],
        env=plain_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("01")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("log", "--json"), ("export",), ("query", "-e", NAMES)]
)
def test_output_that_cannot_be_written_is_a_failure(
    run_omnigraph: Omnigraph, people_graph: Path, arguments: tuple[str, ...]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = run_omnigraph(*arguments, env={"OMNIGRAPH_STORE": str(people_graph)}, stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        "error [output.failed] cannot write the output: No space left on device\n"
    )


def test_a_closed_stdout_is_nobody_listening(
    omnigraph_command: str, plain_environment: dict[str, str]
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{omnigraph_command} version --json >&-"],
        env=plain_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("nonsense 2>&-", 2),
        ("nonsense 2>/dev/full", 2),
        ("nonsense --json 2>&- | true; exit ${PIPESTATUS[0]}", 2),
        ("query --query - --store x <&-", 1),
        ("load x --data - --mode merge <&-", 1),
        ("export GRAPH >&-", 0),
        ("--version 2>&- <&-", 0),
    ],
)
def test_closed_streams_change_nothing_about_the_outcome(
    omnigraph_command: str,
    plain_environment: dict[str, str],
    people_graph: Path,
    command: str,
    code: int,
) -> None:
    line = command.replace("GRAPH", str(people_graph))
    done = subprocess.run(
        ["bash", "-c", f"{omnigraph_command} {line}"],
        env=plain_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert "error" not in done.stdout
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr


def test_an_encoding_without_the_letters_escapes_them(
    run_omnigraph: Omnigraph, people_graph: Path
) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = run_omnigraph("query", "-e", NAMES, "--store", people_graph, env=plain)
    assert told.returncode == 0, told.stderr
    assert told.stdout.isascii()
    assert "Jos\\xe9" in told.stdout
    asked = run_omnigraph("query", "-e", NAMES, "--store", people_graph, "--json", env=plain)
    assert asked.stdout.isascii()
    names = [row["name"] for row in json.loads(asked.stdout)["rows"]]
    assert "José 東京" in names
    plan = run_omnigraph("explain", "-e", NAMES, "--store", people_graph, env=plain).stdout
    assert "`- " in plan
    assert "\\u" not in plan
    wrong = run_omnigraph("branch", "create", "é", "--store", people_graph, env=plain)
    assert wrong.returncode == 1
    assert " -> " in wrong.stderr


def on_a_terminal(
    command: list[str], environment: dict[str, str], *, columns: int
) -> tuple[int, str]:
    """Run a command with a terminal as its stdout; exit code and what was printed."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
        env={**environment, "TERM": "xterm"},
    )
    os.close(follower)
    printed = b""
    try:
        while chunk := os.read(leader, 4096):
            printed += chunk
    except OSError:
        pass  # how Linux says that the other side has closed
    finally:
        os.close(leader)
    _, told = process.communicate()
    assert not told, told
    return process.returncode, printed.decode("utf-8").replace("\r\n", "\n")


def test_a_terminal_of_40_columns_is_wide_enough(
    omnigraph_command: str, plain_environment: dict[str, str], people_graph: Path
) -> None:
    command = [omnigraph_command, "query", "-e", NAMES, "--store", str(people_graph)]
    code, printed = on_a_terminal(command, plain_environment, columns=40)
    assert code == 0
    lines = printed.splitlines()
    assert lines[0].split() == ["name", "born", "all"]
    assert max(map(len, lines)) <= 40
    assert "…" in printed
    for verb in ("status", "snapshot", "show"):
        command = [omnigraph_command, verb, "--store", str(people_graph)]
        command += ["main"] if verb == "show" else []
        code, printed = on_a_terminal(command, plain_environment, columns=40)
        assert (code, max(map(len, printed.splitlines())) <= 40) == (0, True), printed


def test_colours_are_for_terminals(
    run_omnigraph: Omnigraph,
    omnigraph_command: str,
    plain_environment: dict[str, str],
    people_graph: Path,
) -> None:
    command = [omnigraph_command, "log", str(people_graph)]
    _, printed = on_a_terminal(command, plain_environment, columns=80)
    assert "\x1b[33m01" in printed
    assert "\x1b" not in run_omnigraph("log", people_graph).stdout


@pytest.mark.parametrize(
    ("sent", "told"), [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, "terminated\n")]
)
def test_an_interrupted_write_leaves_nothing_half_done(
    run_omnigraph: Omnigraph,
    omnigraph_command: str,
    plain_environment: dict[str, str],
    people_copy: Path,
    sent: signal.Signals,
    told: str,
) -> None:
    before = json.loads(run_omnigraph("status", people_copy, "--json").stdout)
    process = subprocess.Popen(
        [omnigraph_command, "mutate", "-e", ADD, "--store", str(people_copy)],
        env={**plain_environment, "OMNIGRAPH_FAULT": "attempt.prepared=stop"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # It stops itself in the middle of the write; what wakes it up is Ctrl-C, or SIGTERM.
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(sent)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (128 + sent, "", told)
    after = json.loads(run_omnigraph("status", people_copy, "--json").stdout)
    assert after == before
    assert run_omnigraph("mutate", "-e", ADD, "--store", people_copy).returncode == 0


def test_an_interrupt_while_waiting_for_input_is_quiet(
    omnigraph_command: str, plain_environment: dict[str, str], tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [omnigraph_command, "query", "--query", str(fifo), "--store", "x"],
        env=plain_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opening the other end returns when the process has opened its own: it is reading now.
    with fifo.open("w", encoding="utf-8"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_the_prompt_completes_remembers_and_survives_ctrl_c(
    omnigraph_command: str, plain_environment: dict[str, str], people_graph: Path, tmp_path: Path
) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [omnigraph_command, "shell", str(people_graph), "--read-only"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**plain_environment, "TERM": "dumb", "OMNIGRAPH_HOME": str(tmp_path)},
    )
    os.close(follower)
    printed = b""

    def await_text(wanted: bytes) -> None:
        nonlocal printed
        while wanted not in printed:
            assert select.select([leader], [], [], 60)[0], printed
            printed += os.read(leader, 4096)
        printed = printed.partition(wanted)[2]

    try:
        await_text(b"main> ")
        os.write(leader, b"match { $p: Person")
        await_text(b"$p: Person")
        # A signal that comes just before Python begins to wait for a key is seen with the next one.
        process.send_signal(signal.SIGINT)
        while not select.select([leader], [], [], 2)[0]:
            process.send_signal(signal.SIGINT)
        await_text(b"main> ")
        os.write(leader, b"match { $p: Pers\t } return { $p.na\t };\n")
        await_text(b"Charles")
        await_text(b"main> ")
        os.write(leader, b":nonsense\n")
        await_text(b"[shell.unknown_command]")
        await_text(b"main> ")
        os.write(leader, b":quit\n")
        assert process.wait(timeout=60) == 0
    finally:
        os.close(leader)
        process.kill()
        process.wait()
    remembered = (tmp_path / "history").read_text(encoding="utf-8").splitlines()
    assert remembered[-2:] == [":nonsense", ":quit"]
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600


def without_privileges(command: list[str]) -> list[str]:
    """The command for a user to whom permissions apply; for root they do not."""
    if os.geteuid() != 0:
        return command
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("permissions do not apply to root, and there is no setpriv")
    return [setpriv, "--bounding-set", "-all", "--inh-caps", "-all", *command]


def test_in_a_read_only_directory_reading_works_and_writing_is_refused(
    omnigraph_command: str, plain_environment: dict[str, str], people_copy: Path
) -> None:
    places = [people_copy, *people_copy.rglob("*")]
    before = sorted(map(str, places))
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        told = {}
        for verb in (("query", "-e", NAMES, "--format", "jsonl"), ("mutate", "-e", ADD)):
            command = [omnigraph_command, *verb, "--store", str(people_copy)]
            told[verb[0]] = subprocess.run(
                without_privileges(command),
                env=plain_environment,
                capture_output=True,
                text=True,
                check=False,
            )
        assert told["query"].returncode == 0, told["query"].stderr
        assert len(told["query"].stdout.splitlines()) == 4
        assert told["mutate"].returncode == 1
        assert told["mutate"].stderr.startswith("error [")
        assert "Permission denied" in told["mutate"].stderr
        assert "internal error" not in told["mutate"].stderr
        assert sorted(map(str, [people_copy, *people_copy.rglob("*")])) == before
    finally:
        for place in places:
            place.chmod(0o755 if place.is_dir() else 0o644)


@pytest.mark.parametrize(
    "module", ["omnigraph.cli.program", "click", "omnigraph.graph.open", "lance"]
)
def test_an_interrupt_while_modules_load_is_quiet(
    plain_environment: dict[str, str], people_graph: Path, module: str
) -> None:
    script = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from omnigraph.cli.main import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "query", "-e", NAMES, "--store", str(people_graph)],
        env=plain_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
