"""What a comparison of token ids takes out of the loss: labels set to the ignored index, or a mask of the loss.

The comparison is followed upwards through casts, negations and names to the place where it is used. What it cannot
reach certainly is not told: a comparison that is combined with another condition may spare the token after all.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts.matching import last_part
from shardlint.facts.site import Expression, Site

_CASTS = frozenset(["bool", "byte", "int", "long", "float", "to", "type", "type_as", "astype", "cpu", "cuda", "clone"])
_IGNORED_NAME = re.compile(r"ignore_?(index|id|idx|label|token)|label_pad|^ignored?$", re.IGNORECASE)
_LOSS_MASK = re.compile(r"^(?!.*(attention|attn|position))\w*(loss|label|target)s?_?(mask|weight)s?", re.IGNORECASE)
_STEPS = 40


def masked_labels(compared: Site) -> Expression | None:
    """The labels or the mask of the loss from which the tokens of a comparison are taken out; None if not known.

    Args:
        compared: a site of the query `Compared`.
    """
    written = compared.module.parent(compared.ast)
    if not isinstance(written, ast.expr):
        return None
    masked = _Use(compared, written, kept=compared.called == "ne").masked()
    if masked is None or _restored(compared, compared.module.source(masked)):
        return None
    return Expression(compared.module, masked, compared.voice)


def _restored(compared: Site, masked: str) -> bool:
    """Whether a later statement of the function gives the masked labels their end-of-text token back."""
    root = re.match(r"\w+", masked)
    after = [step for step in compared.function.statements if step.lineno > compared.statement.lineno]
    texts = [compared.module.source(step) for step in after if isinstance(step, (ast.Assign, ast.AugAssign, ast.Expr))]
    given = [text for text in texts if "eos" in text and "pad_token" not in text]
    return root is not None and any(re.match(rf"{root.group()}\b", text) for text in given)


class _Use:
    """A truth value of each token on its way to where it is used. `kept`: it is true for the tokens that stay."""

    def __init__(self, site: Site, node: ast.expr, *, kept: bool, follow: bool = True) -> None:
        self.site = site
        self.node = node
        self.kept = kept
        self.follow = follow

    def masked(self) -> ast.expr | None:
        for _ in range(_STEPS):
            above = self.site.module.parent(self.node)
            if above is None or not self._passes(above):
                return self._used(above) if above is not None else None
        return None

    def _passes(self, above: ast.AST) -> bool:
        """Step up where the value above says the same of each token."""
        if isinstance(above, ast.UnaryOp) and isinstance(above.op, (ast.Invert, ast.Not)):
            self.kept = not self.kept
        elif isinstance(above, (ast.BinOp, ast.BoolOp)):
            # What is kept by one of two conditions, or masked only by both, may be spared.
            if not isinstance(above.op, (ast.BitAnd, ast.And) if self.kept else (ast.BitOr, ast.Or)):
                return False
        elif isinstance(above, ast.Compare) and above.left is self.node and len(above.ops) == 1:
            number = above.comparators[0]
            if not isinstance(above.ops[0], ast.Eq) or not isinstance(number, ast.Constant):
                return False
            self.kept = self.kept if number.value else not self.kept
        elif isinstance(above, ast.Attribute):
            call = self.site.module.parent(above)
            if above.attr not in _CASTS or not isinstance(call, ast.Call) or call.func is not above:
                return False
            above = call
        else:
            return False
        self.node = above
        return True

    def _used(self, above: ast.AST) -> ast.expr | None:
        if isinstance(above, ast.Subscript) and above.slice is self.node:
            return self._set(above)
        if isinstance(above, ast.Call):
            return self._filled(above)
        if isinstance(above, ast.IfExp) and above.test is self.node:
            chosen, other = (above.orelse, above.body) if self.kept else (above.body, above.orelse)
            return other if self._ignored(chosen) else None
        if isinstance(above, ast.If) and above.test is self.node and not self.kept:
            return next((found for step in above.body if (found := self._step(step)) is not None), None)
        if isinstance(above, (ast.Assign, ast.AnnAssign)) and above.value is self.node:
            target = above.targets[0] if isinstance(above, ast.Assign) else above.target
            return self._named(target)
        if isinstance(above, ast.Dict):
            keys = [key for key, value in zip(above.keys, above.values, strict=True) if value is self.node]
            named = [key for key in keys if isinstance(key, ast.Constant) and _LOSS_MASK.match(str(key.value))]
            return named[0] if named and self.kept else None
        return None

    def _set(self, place: ast.Subscript) -> ast.expr | None:
        """`labels[ids == pad] = -100`, `loss_mask[ids == pad] = 0`; not in a part of the labels."""
        statement = self.site.module.parent(place)
        if self.kept or not isinstance(statement, ast.Assign) or place not in statement.targets:
            return None
        whole = place.value
        if isinstance(whole, ast.Subscript) and not isinstance(whole.slice, (ast.Constant, ast.Name)):
            return None
        zero = isinstance(statement.value, ast.Constant) and not statement.value.value
        is_mask = zero and _LOSS_MASK.match(_key(whole)) is not None
        return whole if self._ignored(statement.value) or is_mask else None

    def _filled(self, call: ast.Call) -> ast.expr | None:
        """`torch.where(ids == pad, -100, ids)`, `labels.masked_fill(ids == pad, -100)`, also as a function."""
        called, given = last_part(call.func), list(call.args)
        if called == "where" and len(given) == 3 and given[0] is self.node:
            chosen, other = (given[2], given[1]) if self.kept else (given[1], given[2])
            return other if self._ignored(chosen) else None
        if called in ("masked_fill", "masked_fill_") and isinstance(call.func, ast.Attribute) and not self.kept:
            given = [call.func.value, *given] if len(given) == 2 else given
            return given[0] if len(given) == 3 and given[1] is self.node and self._ignored(given[2]) else None
        return None

    def _step(self, step: ast.stmt) -> ast.expr | None:
        """A statement under `if token == pad`: `labels[i] = -100`, `labels.append(-100)`."""
        if isinstance(step, ast.Assign) and self._ignored(step.value):
            target = step.targets[0]
            return target.value if isinstance(target, ast.Subscript) else None
        call = step.value if isinstance(step, ast.Expr) else None
        if not isinstance(call, ast.Call) or len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
            return None
        return call.func.value if call.func.attr == "append" and self._ignored(call.args[0]) else None

    def _named(self, target: ast.expr) -> ast.expr | None:
        """A mask with a name: the loss's own by that name, any other by what its reads in the function do."""
        if self.kept and _LOSS_MASK.match(_key(target)):
            return target
        if not self.follow or not isinstance(target, ast.Name):
            return None
        home = self.site.module.function(self.site.ast)
        for read in Expression(self.site.module, target, self.site.voice).reads:
            if self.site.module.function(read.ast) is home:
                found = _Use(self.site, read.ast, kept=self.kept, follow=False).masked()
                if found is not None:
                    return found
        return None

    def _ignored(self, value: ast.expr) -> bool:
        """Whether a value is the index that the loss ignores."""
        if _IGNORED_NAME.search(last_part(value)):
            return True
        called = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
        return Expression(self.site.module, called, self.site.voice).literal == -100


def _key(place: ast.expr) -> str:
    """The last name of a place: `loss_mask` of `batch["loss_mask"]` and of `self.loss_mask`."""
    if isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Constant):
        return str(place.slice.value)
    return last_part(place)


__all__ = ["masked_labels"]
