"""Test support for this package and for programs that use it.

Modules by subject:

- ``kit``, ``example_cluster``: small graphs, and a small cluster.
- ``aging``: graphs of earlier formats.
- ``kit_steps``, ``kit_between``: test processes as data, and actions between two requests.
- ``processes``, ``processes_preload``, ``contention``: concurrent processes.
- ``power``, ``faulty``, ``counting``: simulated power cuts, injected faults, counted requests.
- ``s3``, ``proxy``, ``kit_proxy``: a real S3 endpoint, and proxies in front of it.
- ``memory_tables``, ``embedder``: ports without storage and without a model.
- ``provider``: a provider of embeddings on loopback.
- ``reference``, ``agreement``, ``sql_translator``, ``sql_functions``: comparisons of the engine.
- ``random_graphs``, ``random_expressions``, ``random_reads``, ``random_products``,
  ``random_stages``,
  ``histories``, ``guided_fuzz``: generated inputs.
- ``engine_parity``: loads in process and by Spark, compared.
- ``verify``: the invariants, checked on disk.
- ``golden_cases``, ``syntax``, ``examples``, ``error_page``: support of single tests and pages.
"""
