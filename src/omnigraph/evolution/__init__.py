"""Changing the schema of a branch: an ordinary commit, with the rewrites that it needs.

``backfill`` reads where rows that exist get new values from; ``plan`` compares the schemas;
``rows`` says how rows of one state of a type become rows of another, and does it; ``checks`` holds
the data against what the new schema demands; ``apply`` stages all of it as one attempt.
"""
