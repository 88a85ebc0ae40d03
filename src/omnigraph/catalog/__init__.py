"""The accepted schema: types and properties with identities that outlive their names.

Modules in reading order:

- ``model``: the catalog, its types, properties and constraints.
- ``codes``: every diagnostic code of schemas and migrations.
- ``build``: builds a catalog from a syntax tree.
- ``draft``: expands interfaces into the nodes that implement them.
- ``checks``: the validation rules of a schema.
- ``patterns``: the regular expressions that ``@check`` accepts.
- ``matching``: matches those expressions in linear time.
- ``identity``: carries identities over from the previous catalog.
- ``canonical``: serialises a catalog to canonical JSON and digests it.
- ``reading``: reads stored JSON strictly.
- ``source``: prints a catalog as ``.pg``.
- ``reduce``: removes the types and properties that an actor may not read.
- ``steps``: the steps of a migration plan.
- ``backfill``: matches a backfill with the properties of a new schema.
- ``diff``: plans the migration from one catalog to another.
- ``diff_properties``: plans the changes of one property.
- ``diff_rules``: plans the changes of constraints.
- ``render``: formats a migration plan as text.
- ``merge_issues``: conflicts of a merge and preferences that resolve them.
- ``merge``: merges two catalogs with a common base.
"""
