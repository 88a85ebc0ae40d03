"""Staging: files that no version refers to yet, and descriptions of what to commit.

In reading order:

- ``operations``: staged changes as JSON;
- ``writing``: data files for rows, ``small_files``: those of a few rows;
- ``deletions``: deletion vectors for addresses;
- ``small_fragments``: compaction of small fragments on write;
- ``changes``: appends, overwrites, mutations, partitions of them;
- ``combination``: many partitions as one change;
- ``field_layout``: schemas with stable field ids, ``reshape``: changes of the schema;
- ``index_segments``: segments of indexes;
- ``files``: the files of a staged change.
"""
