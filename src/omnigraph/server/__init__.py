"""The graph over HTTP.

In the order of control: ``serve`` runs the process; ``app`` takes a request from the socket,
``routing`` finds its operation, ``tokens`` says who asks, ``registry`` which graph is meant, and
``exchange`` is that request on its way: it decodes, asks ``access``, is admitted (``admission``),
and works in one of the ``pools``. ``operations`` declares what there is, ``routes`` does it, one
module per resource; ``wire`` has the bodies, from which requests are decoded and ``openapi`` is
made. ``inflow`` and ``outflow`` carry what does not fit into memory, ``stored`` holds the stored
queries, ``problems`` tells errors, ``metrics`` and ``logs`` what happened.
"""
