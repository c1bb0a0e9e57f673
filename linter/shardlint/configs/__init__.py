"""Training configs as documents with positions: YAML, JSON and TOML read into one tree of nodes.

Every key and value knows its exact range in the source and the Python value that the usual loader gives it, so that a
rule can judge the value and point at the text. Nothing that a document names is ever constructed or run.
"""
