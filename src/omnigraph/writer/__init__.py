"""The write attempt: one path from a change to a commit, for every kind of writer.

``plan`` is what a writer hands over; ``attempt`` runs the phases in order: **capture** one view,
let the writer compute, validate and **stage**, **arm** an intent, **advance** the tables, publish
through ``versioning.publish``, **settle**. ``gates`` (threads) and ``lease`` (processes) only save
wasted work; nothing correct depends on them.
"""
