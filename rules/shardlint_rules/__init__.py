"""The built-in rules of shardlint: one folder a family, one file a rule."""
