"""A storm: processes that do everything at once to one graph and are killed at any instruction.

- ``model``: predicts what a history leads to; shares no code with the product.
- ``worker``: a process of the storm, or a server.
- ``driver``: starts, kills and stops them.
- ``judgement``: compares their reports with the history that the graph shows.
"""
