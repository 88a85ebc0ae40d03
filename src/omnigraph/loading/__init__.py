"""Loading many entities as one commit.

``gather`` reads the input, whatever it is. Streams
of JSON (``streams``, ``lines``) are parsed in blocks: ``columnar`` reads whole columns where it is
sure (``shapes`` says what to expect, ``templates`` cuts lines that are all alike, ``convert`` gives
columns their types), and ``decode``, ``envelopes`` and ``exact`` read record by record where it is
not; they define the meaning. Tables come through ``formats``, ``tables`` and ``cells``. All of it
ends in ``batches``: typed rows with the ids that ``identity`` gave them. ``settle`` decides between
several records of one id, ``writer`` judges the whole against a snapshot and stages it, ``run`` is
the verb.
"""

from omnigraph.loading.load import load

__all__ = ["load"]
