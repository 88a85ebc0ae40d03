"""A first schema for data that has none: ``read`` takes rows out of files, ``observe`` notes what
their values have in common, ``draft`` writes it down as ``.pg``."""

from omnigraph.loading.inference.schema_draft import DraftedSchema, infer_schema

__all__ = ["DraftedSchema", "infer_schema"]
