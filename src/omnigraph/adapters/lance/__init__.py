"""Tables on Lance.

In reading order:

- ``handles``: opened versions and their identity;
- ``reading``: scans, lookups, indexes, differences;
- ``staging``: data files and descriptions of changes;
- ``commits``: new versions, and their durability;
- ``table``: one version, ``tables``: the adapter;
- ``earlier_formats``: tables that only migrations read.
"""

from omnigraph.adapters.lance.tables import LanceTables

__all__ = ["LanceTables"]
