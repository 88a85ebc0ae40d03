"""Reading of opened versions.

In reading order:

- ``blobs``: blob columns;
- ``search``: lookups through indexes;
- ``indexes``: the indexes of a version and their coverage;
- ``membership``: filters over the values of a column;
- ``deletion_vectors``: deleted rows of a fragment;
- ``row_sets``: the difference of two versions by files;
- ``external``: Lance data outside of the graph.
"""
