"""Coordination between writers: claims, locks, leases and heartbeats."""
