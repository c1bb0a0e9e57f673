"""Training configs: what the loader makes of them."""
