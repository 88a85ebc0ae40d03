"""The ports' implementations: small objects, Lance tables, and what both need of a local disk."""
