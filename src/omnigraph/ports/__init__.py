"""What the engine needs from the world, as protocols: small objects and versioned tables.

Every adapter passes the suite of its port in ``tests/contract``.
"""
