"""What one file and the whole program say: names, calls, guards, order, values, ranks, module trees.

`README.md` beside this file has one entry for each fact: its meaning, its source, its version.
"""
