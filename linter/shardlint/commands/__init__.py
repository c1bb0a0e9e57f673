"""The commands: what `cli` calls by name, each imported when it is typed. They give text and exit codes, and print nothing."""
