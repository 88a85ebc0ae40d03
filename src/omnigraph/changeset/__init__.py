"""The rows and tables that one write changes, shared by mutations, loads and merges.

In reading order:

- ``rows``: typed values as rows of a table;
- ``cascade``: edges of deleted nodes;
- ``staging``: an accepted change as staged tables.
"""
