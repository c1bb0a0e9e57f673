"""Fully sharded data parallel: the order of wrapping, units, meta initialisation."""
