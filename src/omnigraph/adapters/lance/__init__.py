"""Tables on Lance.

``tables`` is the adapter. It opens pins through ``handles``, reads through ``read``, writes through
``staging`` (the only module that does), moves versions through ``commit``, syncs through ``sync``.
"""

from omnigraph.adapters.lance.tables import LanceTables

__all__ = ["LanceTables"]
