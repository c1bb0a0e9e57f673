"""From a solved incident to a constraint: read it, propose a check, prove it, write it down."""
