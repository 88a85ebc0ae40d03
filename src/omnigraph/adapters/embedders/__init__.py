"""Providers of embeddings.

Modules in reading order:

- ``settings``: the configuration, from the environment.
- ``configured``: the embedder of a configuration, which compares models.
- ``caching``: vectors of repeated texts, and the cache on disk.
- ``cache``: vectors on disk, by model and hash of the text.
- ``vectors``: validation of what a provider returns.
- ``http_embedder``: batches, concurrency, deadline and retries over HTTP.
- ``retries``: exponential backoff with jitter.
- ``openai_format``, ``gemini_format``: requests and responses of the providers.
- ``local``, ``minilm``, ``word_pieces``: the model that runs in process.
- ``mock``: deterministic vectors without a model.
"""
