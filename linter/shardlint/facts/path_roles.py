"""What the path of a file says of its part in a project."""

from __future__ import annotations

_TEST_WORDS = frozenset(("test", "tests", "testing"))


def in_tests(path: str) -> bool:
    """Whether a file is part of tests, whose models are in no checkpoint and whose jobs run on one machine.

    Args:
        path: relative to the project root, with `/`.
    """
    *folders, name = path.split("/")
    return (
        any(_TEST_WORDS.intersection(folder.replace("-", "_").split("_")) for folder in folders)
        or name.startswith(("test_", "conftest"))
        or name.endswith("_test.py")
        or name == "testing.py"
    )


__all__ = ["in_tests"]
