"""Merging: branches into branches, and single commits, forwards (cherry-pick) or back (revert).

``three`` names the snapshots and reads their pins; ``schema`` merges what they mean; ``standing``
and ``types`` hold the entities of one type against each other; ``rows`` turns decisions into rows;
``orphans`` and ``rules`` find what the result would break; ``plan`` puts it together; ``outcomes``
and ``result`` are what callers get; ``takeover`` moves pins alone; ``branches`` and ``commits`` are
the verbs.
"""
