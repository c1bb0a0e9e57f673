"""Parallel plans against the model that they are for."""
