"""Intermediate rows of a job, in scratch files beside the graph.

Modules in reading order:

* ``row_chunks``: typed rows and their keys between reading and staging.
* ``job_context``: session, graph and id of a job, and its stored rows.
* ``violation_rows``: violations as rows.
"""
