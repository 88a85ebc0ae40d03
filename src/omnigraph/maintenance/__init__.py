"""Indexes and background maintenance."""
