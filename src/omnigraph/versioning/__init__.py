"""History: which version of which table belongs to the graph, on which branch, since when.

``names`` and ``layout`` say what things are called; ``stamp`` guards the format and ``migrations``
raise it; ``manifest`` is one graph commit; ``refs`` are branches and tags on disk; ``root`` bundles
an open graph; ``heads`` finds the newest commit cheaply; ``chain`` walks back from it; ``damage``
decides what a damaged newest commit means; ``head_check`` finds one that is missing;
``invariants`` and ``publish`` are the one door to visibility; ``branches`` and ``tags`` are its
verbs; ``lineage`` indexes commits; ``targets`` turns what a user writes into a snapshot;
``snapshot`` reads it.
"""
