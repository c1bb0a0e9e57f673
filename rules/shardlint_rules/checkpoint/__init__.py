"""Saving, loading and resuming."""
