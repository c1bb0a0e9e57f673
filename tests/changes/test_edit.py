"""What an edit of one file changes."""

from __future__ import annotations

import pytest

from shardlint.changes.edit import first_changed_line, same_code

CODE = 'import a\nimport b\n\n\ndef f(x):\n    """Doubles."""\n    return x * 2\n'


@pytest.mark.parametrize(
    "after",
    [
        CODE.replace("x * 2", "(x\n        * 2)"),
        CODE.replace("return", "# twice\n    return"),
        CODE.replace("Doubles.", "Doubles it."),
        CODE.replace('    """Doubles."""\n', ""),
        CODE.replace("import a\nimport b", "import b\nimport a"),
        CODE + '__version__ = version = "1.2"\n',
    ],
)
def test_what_no_run_of_the_code_can_tell_apart_is_the_same(after: str) -> None:
    assert same_code("a.py", CODE, after)


@pytest.mark.parametrize(
    "after",
    [
        CODE.replace("* 2", "* 3"),
        CODE.replace("import b\n", ""),
        CODE.replace("import a", "import a as c"),
        CODE + "version = a.read()\n",
        CODE + "steps = 3\n",
        CODE + "def broken(:\n",
    ],
)
def test_other_code_is_not_the_same(after: str) -> None:
    assert not same_code("a.py", CODE, after)


def test_a_file_that_did_not_parse_before_has_nothing_to_compare() -> None:
    assert same_code("a.py", "def (:\n", CODE)


def test_other_languages_are_compared_without_comment_lines_and_layout() -> None:
    assert same_code("a.yaml", "# one\na: 1\n", "# two\n\na:  1\n")
    assert not same_code("a.yaml", "a: 1\n", "a: 2\n")


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (CODE.replace("* 2", "* 3"), 7),
        ("# new\n" + CODE.replace("* 2", "* 3"), 8),
        (CODE.replace("    return", "    # twice\n    return 1 +"), 8),
        (CODE.replace("import a\n", ""), 1),
        (CODE + "x = 1\n", 8),
        (CODE.replace("    return x * 2\n", ""), 6),
        ("", 1),
    ],
    ids=["a line", "below a new comment", "with its comment", "a line gone", "at the end", "the end gone", "all gone"],
)
def test_the_first_changed_line_is_one_of_code(after: str, line: int) -> None:
    assert first_changed_line(CODE, after) == line


def test_a_long_edit_is_placed_at_its_start() -> None:
    before = "".join(f"a{number} = 1\n" for number in range(3000))
    assert first_changed_line("x = 1\n" + before, "x = 1\n" + before.replace("= 1", "= 2")) == 2
