"""What happens to a write whose writer did not finish.

A writer leaves an *intent* before it touches a table and a *confirmation* when all tables have
reached their new versions. ``intents`` stores both, ``owner`` and ``heart`` tell whether the writer
still lives; ``sweep`` looks at what was left behind, ``classify`` decides, ``settle`` rolls forward
(publishes under the original commit id) or back (``fence``: a commit that changes no pin and
declares the operation void); ``audit`` keeps one row of each. Nothing here deletes data, and an
intent that nobody resolves blocks nobody.
"""
