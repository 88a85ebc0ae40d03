"""The types of request and response bodies.

Requests are decoded into these types, and the OpenAPI document is built from them; unknown fields
are refused.
"""
