"""Files that a generator writes: what changes in them comes from their sources."""
