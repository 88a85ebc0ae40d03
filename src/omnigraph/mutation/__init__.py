"""Mutations of the query language: statements, assignments and predicates."""
