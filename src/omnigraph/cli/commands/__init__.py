"""One module per verb; each has a ``command``. ``cli.verbs`` is the table of them."""
