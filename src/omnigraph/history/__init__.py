"""Telling what changed: between targets, in one commit, along a branch, to one entity.

``filters`` reads what is wanted; ``pages`` keep answers
small; ``diff``, ``commit``, ``feed``, ``baseline`` and ``blame`` are the verbs.
"""
