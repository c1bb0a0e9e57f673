"""What a team has learned: constraint files, what they check, and how a solved incident becomes a constraint."""
