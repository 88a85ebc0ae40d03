"""The data pipeline on Spark, through PySpark: executors stage, the driver publishes, one commit.

``java`` and ``session`` find a Spark to work with. A load goes through ``inputs`` (which task reads
what), ``spill`` (on executors: typed rows into scratch files, ``pieces``), ``material`` (everything
that was read), ``incoming`` (which records count, and what the branch has of them), ``rules`` and
``verdict`` (what is wrong, counted and in words), ``staging`` (on executors: data files and
deletion vectors) and ``job``, the writer that the attempt runs; ``load`` is the verb. ``tasks`` and
``frames`` are how work reaches executors and comes back, ``site`` how they reach the graph.

This is the only package that imports PySpark, and importing it does not: that is left to whoever
needs a session.
"""
