"""An open graph: its engine, prepared queries, running operations and status."""
