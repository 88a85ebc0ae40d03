"""Reading of the input of a load into row chunks.

Modules in reading order:

* ``splits``: input files, and the sections of them that each task reads.
* ``located_yaml``: YAML with positions.
* ``mapping``: parses a ``pipeline.yaml``.
* ``reader_options``: refuses reader options that lose rows.
* ``read_plan``: resolves the inputs of a request before Spark starts.
* ``mapped_frames``: the sources of a mapping as data frames.
* ``chunk_reader``: reads sections and frames into chunks, on executors.
* ``read_input``: the chunks of one load, with record and line numbers.
"""
