"""Text predicates, relevance, nearest vectors and rank fusion.

Rows are positions: ordinals in a scan of the table without a filter. Modules in reading order:

* ``column_scoring``: evaluates the search expressions of a query.
* ``row_scoring``: the same where the search argument differs from row to row.
* ``text_column``: text search on a column, by its terms or by an index.
* ``indexed_texts``: candidate rows from an inverted index.
* ``text_lengths``: lengths of texts, stored with an index.
* ``corpus``: text predicates and BM25 over many texts.
* ``term_dictionary``: texts as term codes.
* ``edit_distance``: terms within a number of edits.
* ``vector_column``: nearest vectors of a column.
* ``cells``: vectors clustered by direction, to skip most of them.
* ``distances``: exact cosine distances.
* ``ranking``: ranks and reciprocal rank fusion.
* ``segments``: a search structure per fragment of a column, cached.
* ``parallel``: divides work between threads.
* ``embedding``: query vectors of texts.
"""
