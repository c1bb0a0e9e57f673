"""What collators take of a sample and put into a batch, read from the code of their class or function."""

from __future__ import annotations

import ast

from modality_table.source import FUNCTIONS, Classes, Package, last_name, parameters, text_of

_ENTRY = ("__call__", "torch_call", "process_rows", "data_collator", "_data_collator")


class Keys:
    """`reads`: the keys taken of a sample by name. `emits`: the keys put into the batch by name."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.emits: set[str] = set()


def keys_of(package: Package, path: str, name: str) -> Keys | None:
    """The keys of a class (its own methods and inherited ones) or function; None where the file does not define it."""
    found = Keys()
    tree = package.tree(path)
    for node in tree.body:
        if isinstance(node, FUNCTIONS) and node.name == name:
            _read(node, found)
            return found
        if isinstance(node, ast.ClassDef) and node.name == name:
            classes = Classes(package, path)
            for _, one in classes.lineage(path, node):
                for method in one.body:
                    if isinstance(method, FUNCTIONS) and not method.name.startswith("numpy_"):
                        _read(method, found)
            return found
    return None


def _read(function: ast.FunctionDef | ast.AsyncFunctionDef, found: Keys) -> None:
    given = parameters(function)[:1]
    batches, samples = set(given), set[str]()
    for _ in range(2):  # a list made of samples is a batch, too
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.comprehension)) and _walks(node.iter, batches):
                target = node.target.elts[-1] if isinstance(node.target, ast.Tuple) else node.target
                samples |= {target.id} if isinstance(target, ast.Name) else set()
            elif (
                isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp) and _walks_in(node.value, batches)
            ):
                same = isinstance(node.value.elt, ast.Name) and node.value.elt.id in samples
                batches |= {one.id for one in node.targets if isinstance(one, ast.Name) and same}
    returned = {n.value.id for n in ast.walk(function) if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)}
    for node in ast.walk(function):
        key, holder = _key(node)
        if key and _is_sample(holder, batches, samples):
            found.reads.add(key)
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if key and stored and isinstance(holder, ast.Name) and holder.id in returned - samples:
            found.emits.add(key)
        targets = [one.id for one in node.targets if isinstance(one, ast.Name)] if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.Return) or not returned.isdisjoint(targets):
            made = node.value if isinstance(node, (ast.Return, ast.Assign)) else None
            found.emits |= {text_of(one) for one in made.keys} - {""} if isinstance(made, ast.Dict) else set()


def _walks(iterated: ast.expr, batches: set[str]) -> bool:
    if isinstance(iterated, ast.Call) and last_name(iterated.func) == "enumerate" and iterated.args:
        iterated = iterated.args[0]
    return isinstance(iterated, ast.Name) and iterated.id in batches


def _walks_in(made: ast.ListComp, batches: set[str]) -> bool:
    return _walks(made.generators[0].iter, batches)


def _key(node: ast.AST) -> tuple[str, ast.expr | None]:
    """The constant key and the holder of `x["k"]`, `x.get("k")`, `x.pop("k")` and `"k" in x`."""
    if isinstance(node, ast.Subscript):
        return text_of(node.slice), node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (text_of(node.args[0]), node.func.value) if node.func.attr in ("get", "pop") else ("", None)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return text_of(node.left), node.comparators[0]
    return "", None


def _is_sample(holder: ast.expr | None, batches: set[str], samples: set[str]) -> bool:
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr == "keys":
        holder = holder.func.value
    if isinstance(holder, ast.Subscript) and isinstance(holder.value, ast.Name):
        return holder.value.id in batches and not text_of(holder.slice)
    return isinstance(holder, ast.Name) and holder.id in samples
