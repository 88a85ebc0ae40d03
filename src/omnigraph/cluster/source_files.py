"""Files that a declaration names: inside of its directory, and never through symbolic links."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from omnigraph.cluster.yaml_nodes import YamlNode

__all__ = ["SourceFiles"]

_SUFFIX = ".gq"


class SourceFiles:
    """The files of one cluster directory. A file is read once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[str, bytes] = {}

    def read(self, path: str, node: YamlNode, *, missing: str) -> bytes | None:
        """Return the bytes of a file, or report why there are none."""
        place = self._resolve(path, node)
        if place is None:
            return None
        found = self._read.get(str(place))
        if found is not None:
            return found
        if not place.is_file():
            node.error(missing, f"{path} is not a file", remedy="paths start at cluster.yaml")
            return None
        try:
            found = self._read[str(place)] = place.read_bytes()
        except OSError as error:
            node.error("cluster_config_read_error", f"cannot read {path}: {error.strerror}")
        return found

    def query_files(self, path: str, node: YamlNode, *, named: bool) -> Sequence[str]:
        """Return a file, or the ``.gq`` files directly below a directory, sorted."""
        place = self._resolve(path, node)
        if place is None:
            return ()
        if named or not place.is_dir():
            return (path,)
        try:
            names = sorted(each.name for each in place.iterdir() if each.name.endswith(_SUFFIX))
        except OSError as error:
            node.error("query_dir_unreadable", f"cannot list {path}: {error.strerror}")
            return ()
        if not names:
            node.warn("query_dir_empty", f"{path} contains no {_SUFFIX} file")
        return tuple(str(PurePosixPath(path) / name) for name in names)

    def _resolve(self, path: str, node: YamlNode) -> Path | None:
        pure = PurePosixPath(path)
        if not path.strip() or not path.isprintable() or "\\" in path:
            node.error("invalid_cluster_yaml", f"{path!r} is not a path")
            return None
        if pure.is_absolute() or ".." in pure.parts:
            node.error(
                "config_path_escape",
                f"{path} leaves the cluster directory",
                remedy="keep all files below the directory of cluster.yaml",
            )
            return None
        place = self._directory
        for part in pure.parts:
            place = place / part
            if place.is_symlink():
                node.error(
                    "config_path_symlink",
                    f"{path} goes through the symbolic link {part}",
                    remedy="copy the file: its content is part of the cluster",
                )
                return None
        return place
