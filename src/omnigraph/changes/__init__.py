"""What changed: between two states of a table, between two snapshots, along a branch.

``digest`` reduces rows to comparable words; ``compare`` finds the entities of a type that differ;
``model`` is what a change looks like from outside; ``schema`` compares definitions; ``stream``
tells all changes between two snapshots; ``tokens`` are the opaque places at which a reader goes on.
"""
