"""Test support for this package and for programs that use it."""
