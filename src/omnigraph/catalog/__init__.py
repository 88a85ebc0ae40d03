"""The accepted schema: types and properties with identities that outlive their names.

``model`` is the catalog itself. ``build`` makes one from a syntax tree: ``draft`` expands the
interfaces, ``checks`` holds the rules (``patterns`` those of regular expressions), ``identity``
keeps what a predecessor had. ``canonical`` serialises and digests it (``reading`` is the strict
way back), ``source`` prints it as ``.pg``. ``diff`` plans the way from one catalog to another,
property by property (``diff_properties``) and rule by rule (``diff_rules``), in the ``steps`` that
``render`` explains. Every code is in ``codes``.
"""
