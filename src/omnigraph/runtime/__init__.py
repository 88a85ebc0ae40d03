"""Time, ids, limits, concurrency and fault points. Modules in reading order:

- ``clock``: wall time and monotonic time.
- ``ids``: ULIDs and short ids.
- ``bulk_ids``: many ULIDs at once.
- ``limits``: the limits of the engine.
- ``budget``: the budget of a query.
- ``cancellation``: cancels the running call.
- ``concurrency``: runs an action in a second thread.
- ``lru_cache``: bounded caches.
- ``files``: atomic output files.
- ``credentials``: the directory of the user, and the secrets in it.
- ``json_text``: parses JSON.
- ``json_values``: converts records to JSON values.
- ``faults``: fault points of tests.
"""
