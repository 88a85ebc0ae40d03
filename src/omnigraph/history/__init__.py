"""History for readers: commits, differences between targets, and changes in the order of commits.

In reading order: ``commits`` lists and pages commits; ``filters`` parses the types, kinds and
operations that a reader asks for; ``pages`` bounds the size of a page; ``diff`` compares two
targets; ``commit_changes`` lists the changes of one commit; ``feed`` lists those of a branch;
``baseline`` reads a branch whole, with a cursor of the feed; ``blame`` finds the history of one
entity, which ``entity_reader`` reads at many commits.
"""
