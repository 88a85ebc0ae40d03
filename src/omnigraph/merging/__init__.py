"""Merging of branches, and of single commits forwards (cherry-pick) or backwards (revert).

Modules in reading order:

* ``merge``, ``cherry_pick``, ``reset``: the operations.
* ``snapshots``: the three snapshots of a merge and their pins.
* ``schema``, ``schema_view``: the merged schema, and tables seen through it.
* ``three_way``: the decision about one entity.
* ``entity_states``, ``type_merge``: the merge of one type.
* ``dangling_edges``, ``constraint_conflicts``: conflicts between entities.
* ``plan``: conflicts, resolutions and the result as a whole.
* ``resolutions``: parses resolutions of conflicts.
* ``rows``, ``staging``, ``pin_takeover``: the rows and pins to write.
* ``counts``, ``result``: effects and errors for the caller.
"""
