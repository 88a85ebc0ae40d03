"""Authorisation: actions, policy bundles and the checks of one actor.

An adapter evaluates the rules (``adapters.cedar``). Modules in reading order:

- ``actions``: the actions that a rule allows or denies.
- ``questions``: an authorisation request and its decision.
- ``bundle``: groups, protected branches and rules.
- ``yaml_tree``: YAML nodes with positions.
- ``reading``: parses and validates a bundle.
- ``presets``: built-in bundles.
- ``guard``: the authorisation checks of one actor.
- ``cases``: test cases of a bundle.
"""
