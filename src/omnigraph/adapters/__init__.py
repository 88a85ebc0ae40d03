"""Implementations of the ports.

Modules in reading order:

- ``lance``: tables.
- ``objects``: small objects.
- ``embedders``: providers of embeddings.
- ``cedar``: evaluation of policies.
- ``disk``: durability on a local disk.
- ``remedies``: remedies for errors of a disk.
"""
