"""One module per verb, each with a ``command``; ``cli.verbs`` lists them."""
