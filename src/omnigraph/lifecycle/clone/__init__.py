"""Copying a graph while others write to it.

The parts of a commit never change, so a copy is a matter of order: refs are read first; then
everything that they lead to is written from the bottom up: files of tables, manifests with parents
before children, refs, and the stamp last. So whatever stands in the copy is complete below, whoever
looks and whenever the copying died: an interrupted clone goes on where it stopped, and a later one
copies only what has come since.

In reading order: ``destination`` guards the target; ``inventory`` finds the missing parts;
``transfer`` moves files; ``clone`` copies in order.
"""
