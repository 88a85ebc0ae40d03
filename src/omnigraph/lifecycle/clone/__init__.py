"""Copying a graph while others write to it.

What a commit consists of never changes, so a copy is a matter of order: refs are read first; then
everything that they lead to is written from the bottom up: files of tables, manifests with parents
before children, refs, and the stamp last. So whatever stands in the copy is complete below, whoever
looks and whenever the copying died: an interrupted clone goes on where it stopped, and a later one
copies only what has come since.

``inventory`` finds what is missing; ``transfer`` moves files; ``place`` guards the target;
``clone`` does it all in order.
"""
