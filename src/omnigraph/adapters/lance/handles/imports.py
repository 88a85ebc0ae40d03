"""The only imports of Lance, on first use: 300 ms that a cold ``--help`` avoids."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

__all__ = ["load_dataset_module", "load_file_module", "load_lance"]


@cache
def load_lance() -> Any:
    """Import Lance.

    Lance can trust a small file for the newest version instead of listing. That file is written
    after the commit, so it can lag; beside a cleaned version, a lagging one lets an append win a
    number that lies behind the head (tests/substrate shows it). It is switched off, which also
    saves a request per commit. Lance reads the switch once; a program that used Lance before us
    keeps the hint, and our checks of version and transaction still hold.

    Its warnings bypass logging and are suppressed; failures reach the caller as errors.
    """
    os.environ["LANCE_USE_VERSION_HINT"] = "false"
    os.environ.setdefault("LANCE_LOG", "error")
    import lance  # noqa: PLC0415 - imported on first use

    return lance


@cache
def load_dataset_module() -> Any:
    """Return the module ``lance.dataset``, which a function of that name shadows in ``lance``."""
    load_lance()
    return importlib.import_module("lance.dataset")


@cache
def load_file_module() -> Any:
    """Return the module ``lance.file``, of single files."""
    load_lance()
    return importlib.import_module("lance.file")
