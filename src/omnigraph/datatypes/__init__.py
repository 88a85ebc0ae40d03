"""Data types and values. Modules in reading order:

- ``types``: the data types of the schema language.
- ``values``: converts JSON to typed Python values and formats keys.
- ``arrow``: maps types to Arrow; the only module here that imports it.
"""
