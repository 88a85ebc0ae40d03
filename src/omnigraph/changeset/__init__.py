"""Rows and tables that one write changes, shared by mutations, loads and merges."""
