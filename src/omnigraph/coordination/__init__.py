"""Coordination between writers. Nothing correct depends on it except ``claim``.

In reading order:

- ``owner``: identity and liveness of a process;
- ``locks``: mutual exclusion of the threads of one process;
- ``lease``: mutual exclusion of processes;
- ``heartbeat``: liveness of long operations;
- ``claim``: the right to create a graph at a place.
"""
