"""Data: samplers, loaders, what each rank reads."""
