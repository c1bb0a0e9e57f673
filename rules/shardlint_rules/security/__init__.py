"""Security: what may run code of others."""
