"""Executing queries. The values that a query computes are defined in ``omnigraph.semantics``."""
