"""A server gives back the memory of a request that needed much of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

import httpx
import pytest

import omnigraph

MIB = 2**20


def resident_mib(process: subprocess.Popen[str]) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel publishes the resident set")
def test_the_memory_of_a_compressed_load_that_is_too_large_is_returned(tmp_path: Path) -> None:
    place = tmp_path / "people.omni"
    omnigraph.init(place, "node Person { name: String @key }", durability="process").close()
    line = b'{"type": "Person", "data": {"name": "' + b"a" * 1000 + b'"}}\n'
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = line * (MIB // len(line))
    body = b"".join(packer.compress(block) for _ in range(300)) + packer.flush()
    command = [sys.executable, "-m", "omnigraph", "serve", str(place), "--bind", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--unauthenticated"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={key: value for key, value in os.environ.items() if "OMNIGRAPH_" not in key},
    ) as process:
        try:
            assert process.stdout is not None
            url = f"http://{process.stdout.readline().strip().partition('=')[2]}/graphs/people"
            query = {"query": "query q() { match { $p: Person } return { count($p) as n } }"}
            httpx.post(f"{url}/query", json=query, timeout=60).raise_for_status()
            before = resident_mib(process)
            said = {"Content-Type": "application/x-ndjson"}
            answer = httpx.post(
                f"{url}/load/ndjson?mode=merge", content=body, headers=said, timeout=100
            )
            assert answer.status_code == 413
            deadline = time.monotonic() + 30
            while resident_mib(process) > before + 100 and time.monotonic() < deadline:
                time.sleep(0.2)
            assert resident_mib(process) <= before + 100
        finally:
            process.kill()
