"""Parallel plans against the facts of a model: pure Python, for it knows the model only by its facts."""
