"""Access to Spark: sessions, tasks on executors, and the types that Spark supports.

Modules in reading order:

* ``java``: finds a Java for Spark.
* ``session``: opens the session of this process.
* ``graph_location``: gives executors access to the graph.
* ``tasks``: runs functions on executors.
* ``batching``: groups items by weight.
* ``progress``: reports the stages of a job.
* ``columns``: maps properties to columns of Spark.
"""
