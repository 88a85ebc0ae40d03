"""Search: text predicates, relevance, nearest vectors, rank fusion.

In the order of control: ``texts`` and ``vectors`` answer for a column of a table at its pin.
``segments`` keeps what they make of a column, part by part; ``words`` (texts as numbers),
``distances`` (exact) and ``similar`` (few edits) compute. ``corpus`` says what texts mean,
``indexed`` finds them through an index, ``notes`` are kept with it. ``ranking`` orders scores.

Rows are positions: places in a scan of the table without a filter.
"""
