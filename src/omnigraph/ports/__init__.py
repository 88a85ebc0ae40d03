"""Protocols of everything that the engine needs from outside.

- ``objects``: small objects and whole files below one root;
- ``tables``: versioned tables;
- ``indexes``: indexes of a table;
- ``earlier_formats``: tables that only migrations read;
- ``embeddings``: embedding models.

Every adapter passes the suite of its port in ``tests/contract``.
"""
