"""The graph as its users hold it: ``open`` makes one, ``facade`` is what they call."""
