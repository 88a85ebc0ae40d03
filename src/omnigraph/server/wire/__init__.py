"""The bodies of requests and answers. Requests are decoded into these types, and the OpenAPI
document is made of them; a request with a field that is not here is refused."""
