"""Collectives and the ranks that must meet in them."""
