"""Text -> tree, and the findings for what cannot be read."""

from __future__ import annotations

import ast

from shardlint.finding import Evidence, Finding, Span
from shardlint.fingerprint import fingerprint


def parse(text: str) -> ast.Module | SyntaxError:
    """The tree of a Python file. Whatever the parser cannot take is one kind of failure."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(text, "<linted>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return SyntaxError(f"{type(error).__name__}: {error}")
    assert isinstance(tree, ast.Module)
    return tree


def syntax_error(path: str, error: SyntaxError) -> Finding:
    line = error.lineno or 1
    column = max(error.offset or 1, 1)
    return broken(
        "syntax-error", path, Span(line, column, line, column), error.msg or "invalid syntax", error.text or ""
    )


def too_deep(path: str) -> Finding:
    """A file that the parser takes, and whose nesting is too deep for anything that walks its tree."""
    reason = "its expressions or statements are nested too deeply"
    return broken("syntax-error", path, Span(1, 1, 1, 1), reason, "")


def broken(rule: str, path: str, span: Span, reason: str, text: str) -> Finding:
    """A file that a rule could fire in, and that cannot be read: nothing in it was judged.

    `rule` is syntax-error or broken-document; `text` is the line at fault, for the fingerprint.
    """
    what = "Python" if rule == "syntax-error" else "configuration"
    return Finding(
        path=path,
        span=span,
        rule=rule,
        family="engine",
        severity="error",
        confidence=0.95,
        evidence=Evidence("observation"),
        message=f"no rule could look at this file: {reason}",
        help=f"make it valid {what}, or exclude it in the settings",
        fingerprint=fingerprint(rule, "", text),
    )
