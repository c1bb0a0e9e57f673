"""Defects that are put into healthy code, one module a family of rules; `corpus/mutate.py` counts which are caught."""
