"""Inputs that nobody would write, by the thousand, and what must hold for each: see `__main__` for how to run it."""
