"""The interactive shell. Modules in reading order:

- ``prompt``: reads statements from a terminal or a pipe.
- ``statements``: detects complete statements and commands.
- ``session``: executes them.
- ``completion``: completes words.
"""
