"""git, and two states of the repository: what changed, and which of the changed files are written by a generator."""
