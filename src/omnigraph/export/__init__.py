"""Export of entities and blobs."""
