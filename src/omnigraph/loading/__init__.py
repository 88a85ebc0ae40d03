"""Bulk loads: many entities as one commit.

``load`` is the operation. ``collect`` reads any input into memory: streams of JSON
(``byte_streams``, ``json_reader``) are parsed in blocks, by the ``columnar_parser`` where every
record is regular (``json_schemas``, ``line_templates``, ``convert``), and otherwise record by
record (``json_decoder``, ``envelopes``, ``record_parser``), which defines the semantics. Tables
come through ``formats``, ``csv_lines``, ``tables`` and ``cells``. The results are ``batches``:
typed rows with the ids from ``identity``. ``deduplicate`` keeps one record per id; ``writer``
validates the load against a snapshot and stages it; ``result`` describes it. ``inference`` drafts a
schema for files.
"""

from omnigraph.loading.load import load

__all__ = ["load"]
