"""The commands that `cli` calls by name, each imported when it is typed. They give text and exit codes."""
