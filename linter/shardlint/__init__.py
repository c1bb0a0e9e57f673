"""The engine of shardlint, a linter for repositories that train models on many devices.

The engine knows no rule; rules come from packs found through the entry point group ``shardlint.rules``.
"""

__version__ = "0.1.0"
