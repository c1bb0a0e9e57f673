"""How a rule writes a fix: it says what to change, the ranges and the syntax are worked out here."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from shardlint.finding import Span, TextEdit

if TYPE_CHECKING:
    import libcst as cst

    from shardlint.configs.site import Scalar
    from shardlint.facts.site import Expression, Site


class Edit:
    """Collects the text edits of one fix, all in one file: in `path`, or in the finding's own where that is None."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self.edits: list[TextEdit] = []

    def insert(self, line: int, column: int, text: str) -> None:
        """Insert `text` before a column (in characters) of a line, both from 1."""
        self.edits.append(TextEdit(Span(line, column, line, column), text))

    def replace(self, place: Expression | Scalar, text: str) -> None:
        """Replace an expression, or a scalar of a document, by `text`."""
        self.edits.append(TextEdit(place.span, text))

    def set_argument(self, call: Site, keyword: str, text: str) -> None:
        """Give a call the keyword argument `keyword=text`, in place of the one that it has. Nothing in an f-string."""
        import libcst as cst

        from shardlint.syntax.nodes import code

        if any(isinstance(at, ast.JoinedStr) for at in call.module.ancestors(call.call)):
            return  # before Python 3.12 the parser does not say exactly where things in an f-string are
        given = call.argument(keyword)
        if given is not None:
            self.replace(given, text)
            return
        node = call.node
        argument = cst.Arg(
            keyword=cst.Name(keyword),
            value=cst.parse_expression(text),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
        arguments = [_bracketed(given) for given in node.args]
        if arguments:
            arguments[-1], argument = _appended(node, arguments, argument)
        self.edits.append(TextEdit(call.span, code(node.with_changes(args=[*arguments, argument]))))

    def insert_before(self, statement: ast.stmt, text: str, call: Site) -> None:
        """Insert a simple statement before `statement`: on a line of its own, or in its line if more stands there."""
        span = call.module.span(statement)
        line, column = span.line, span.column
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and statement.decorator_list:
            line = min(decorator.lineno for decorator in statement.decorator_list)
        indent = call.module.lines[line - 1][: column - 1]
        if indent.strip():
            self.edits.append(TextEdit(Span(line, column, line, column), f"{text}; "))
        elif not call.module.lines[line - 1].startswith("elif", column - 1):
            self.edits.append(TextEdit(Span(line, 1, line, 1), f"{indent}{text}\n"))


def _appended(node: cst.Call, arguments: list[cst.Arg], new: cst.Arg) -> tuple[cst.Arg, cst.Arg]:
    """The last argument and the new one after it, laid out as the arguments before them are."""
    import libcst as cst

    last = arguments[-1]
    if isinstance(last.comma, cst.MaybeSentinel):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        return last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")), new
    spread = arguments[-2].comma if len(arguments) > 1 else None
    between = spread.whitespace_after if isinstance(spread, cst.Comma) else node.whitespace_before_args
    end = last.comma.whitespace_after
    if isinstance(between, cst.SimpleWhitespace) and not between.value:
        between = cst.SimpleWhitespace(" ")
    if isinstance(between, cst.ParenthesizedWhitespace) and isinstance(end, cst.ParenthesizedWhitespace):
        # A comment after the last argument stays with it.
        between = between.with_changes(first_line=end.first_line)
        bare = end.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        end = end.with_changes(first_line=bare)
    ends = last.comma.with_changes(whitespace_after=end)
    return last.with_changes(comma=last.comma.with_changes(whitespace_after=between)), new.with_changes(comma=ends)


def _bracketed(argument: cst.Arg) -> cst.Arg:
    """A bare generator may only stand alone between the brackets of a call."""
    import libcst as cst

    value = argument.value
    if isinstance(value, cst.GeneratorExp) and not value.lpar:
        return argument.with_changes(value=value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))
    return argument
