"""What Lance raises, in the words of the error tree."""

from __future__ import annotations

import pytest

from omnigraph.adapters.lance.handles.failures import reading, writing
from omnigraph.errors import StorageFault


def test_an_interrupted_stream_is_an_interrupt_and_no_damage() -> None:
    for using in (reading, writing):
        with pytest.raises(KeyboardInterrupt), using("nodes/1"):
            raise OSError("External error: KeyboardInterrupt: , /src/lance.rs:1:1")
        with pytest.raises(SystemExit, match="143"), using("nodes/1"):
            raise OSError("External error: SystemExit: 143, /src/lance.rs:1:1")
        with pytest.raises(StorageFault, match="table nodes/1: torn"), using("nodes/1"):
            raise OSError("torn, /src/lance.rs:1:1")


def test_a_disk_that_refuses_comes_with_a_way_out() -> None:
    with pytest.raises(StorageFault) as caught, writing("nodes/1"):
        raise OSError("LanceError(IO): Permission denied (os error 13), /src/lance.rs:1:1")
    assert caught.value.remedy is not None
    assert "read_only=True" in caught.value.remedy
