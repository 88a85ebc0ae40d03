"""Schema inference: a first schema for files without one.

``file_reader`` reads rows from files, ``column_types`` observes the common type of their values,
``schema_draft`` writes the schema as ``.pg``.
"""

from omnigraph.loading.inference.schema_draft import DraftedSchema, infer_schema

__all__ = ["DraftedSchema", "infer_schema"]
