"""Opened versions and their identity.

In reading order:

- ``imports``: the only imports of Lance;
- ``versions``: names of versions on disk;
- ``failures``: translation of errors;
- ``fingerprint``: identity of a version;
- ``root``: the root of all tables;
- ``metadata``: metadata, read once per handle;
- ``cache``: the handles of pins.
"""
