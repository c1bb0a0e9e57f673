"""The imports that a snippet leaves out, because everybody knows them."""

from __future__ import annotations

import ast
import builtins

CUSTOMARY = {
    "accelerate": "import accelerate",
    "datasets": "import datasets",
    "dcp": "import torch.distributed.checkpoint as dcp",
    "deepspeed": "import deepspeed",
    "dist": "import torch.distributed as dist",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "os": "import os",
    "torch": "import torch",
    "transformers": "import transformers",
    "yaml": "import yaml",
}
"""Names that mean the same in nearly every training repository, and the import that gives them."""


def completed(snippet: str) -> str:
    """A snippet with the customary imports of names that it uses and nowhere binds.

    Raises SyntaxError for what is not Python.
    """
    tree = ast.parse(snippet)
    nodes = list(ast.walk(tree))
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)} | set(dir(builtins))
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    missing = [CUSTOMARY[name] for name in sorted(CUSTOMARY) if name in read - bound]
    return "".join(f"{line}\n" for line in missing) + ("\n" if missing else "") + snippet
