"""Lance data outside of the graph: a dataset or a single file, as the input of a load."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import LANCE_ERRORS, panics_as_errors
from omnigraph.adapters.lance.handles.imports import load_file_module, load_lance
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

__all__ = ["LanceInput"]

_BATCH_ROWS = 65_536


class LanceInput:
    """The newest version of a dataset, or a file; each fragment can be read by itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._as_invalid_input():
            if Path(path).is_dir():
                self._dataset = load_lance().dataset(path)
                self._fragments = self._dataset.get_fragments()
                self.sizes = tuple(fragment.count_rows() for fragment in self._fragments)
            else:
                self._dataset = None
                self.sizes = (self._file().num_rows(),)

    def batches(self, fragments: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the rows of all fragments or of some."""
        with self._as_invalid_input():
            if self._dataset is None:
                yield from self._file().read_all(batch_size=_BATCH_ROWS).to_batches()
                return
            every = self._fragments
            chosen = every if fragments is None else [every[place] for place in fragments]
            if chosen:
                yield from self._dataset.scanner(
                    fragments=chosen, batch_size=_BATCH_ROWS, scan_in_order=True
                ).to_batches()

    def _file(self) -> Any:
        return load_file_module().LanceFileReader(self._path)

    @contextmanager
    def _as_invalid_input(self) -> Iterator[None]:
        try:
            with panics_as_errors():
                yield
        except LANCE_ERRORS as error:
            raise InvalidInput(
                "load.corrupt",
                f"{self._path} cannot be read as Lance: {str(error).splitlines()[0]}",
                remedy="check the path; a dataset is a directory with _versions in it",
                details={"file": self._path},
            ) from error
