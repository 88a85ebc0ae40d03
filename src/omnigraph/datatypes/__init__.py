"""Types and values.

``types`` names the types of the schema language; ``values`` turns JSON into typed Python values and
spells keys canonically; ``arrow`` maps types to Arrow and is the only module here that imports it.
"""
