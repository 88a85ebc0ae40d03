"""Versioned tables: immutable versions, opened and extended by pin.

A pin is a version **and** its fingerprint, because a version number can be reused after cleanup or
after a torn manifest. Paths are relative to the graph's root, ``/``-separated. In reading order:

- ``pins``: pins, fragments, sets of rows;
- ``reader``: reading one version;
- ``stager``: writing changes aside;
- ``logs``: ordered tables outside of all pins;
- ``store``: all tables of a graph.

Errors: ``NotFound("table.missing" | "table.version_missing")``,
``StorageFault("table.pin_mismatch")`` when the version exists with another fingerprint,
``Conflict("table.raced")`` after a lost race, ``StorageFault("table.torn")`` when the manifest of a
version (named in ``details``) cannot be parsed, ``StorageFault("table.damaged")`` when a file of a
version is missing or has other contents, ``StorageFault("storage.root_missing")`` when the graph
was moved away, ``StorageFault`` for the rest.

A blob column is ``large_binary`` with the mark of ``datatypes.arrow`` in its field metadata; values
are bytes, in and out.
"""

from omnigraph.ports.tables.logs import LogStore
from omnigraph.ports.tables.pins import ROW_ADDRESS, ROW_ID, Fragment, Pin, RowSet, table_version
from omnigraph.ports.tables.reader import ExternalTable, StoredBlob, TableReader
from omnigraph.ports.tables.stager import ColumnFill, Staged, StagedFile, TableStager
from omnigraph.ports.tables.store import Table, TableStore

__all__ = [
    "ROW_ADDRESS",
    "ROW_ID",
    "ColumnFill",
    "ExternalTable",
    "Fragment",
    "LogStore",
    "Pin",
    "RowSet",
    "Staged",
    "StagedFile",
    "StoredBlob",
    "Table",
    "TableReader",
    "TableStager",
    "TableStore",
    "table_version",
]
