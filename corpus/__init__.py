"""Public code at pinned versions, what shardlint finds in it, and a verdict for each finding."""
