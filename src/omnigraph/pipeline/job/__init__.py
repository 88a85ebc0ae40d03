"""The load job: a write whose work runs on executors.

Modules in reading order:

* ``load_job``: validates, stages and counts a load.
* ``staging``: stages data files and deletion vectors on executors.
* ``rebase``: transfers a validated load to a later snapshot.
"""
