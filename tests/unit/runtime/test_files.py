"""A file that somebody names appears when it is whole; what is no file is left in its place."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from omnigraph.runtime.files import open_atomically

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), open_atomically(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("out", b"old")]
    with open_atomically(path) as file:
        file.write(b"whole")
        assert path.read_bytes() == b"old"
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("out", b"whole")]


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    with open_atomically(path) as one, open_atomically(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()))
    reader.start()
    with open_atomically(pipe) as file:
        file.write(b"through")
    reader.join()
    assert came == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "file")
    with open_atomically(link) as file:
        file.write(b"x")
    assert link.is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() == b"x"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), open_atomically(tmp_path):
        pass
