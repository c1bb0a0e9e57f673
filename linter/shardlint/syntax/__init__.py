"""LibCST: the node of a site, exact syntax, edits. The only place of the engine that imports it, and only on demand."""
