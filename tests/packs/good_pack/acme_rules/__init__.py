"""The rules of the team Acme."""
