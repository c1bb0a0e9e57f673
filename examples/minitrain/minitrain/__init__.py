"""A small training repository for many devices."""
