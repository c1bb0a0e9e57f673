"""Files of tests are known by their path."""

from __future__ import annotations

import pytest

from shardlint.facts.path_roles import in_tests


@pytest.mark.parametrize(
    "path",
    [
        *("tests/a.py", "pkg/testing/a.py", "pkg/test_utils/a.py", "unit_tests/a.py", "tests-gpu/run.py", "test/a.py"),
        *("test_a.py", "pkg/a_test.py", "conftest.py", "pkg/testing.py"),
    ],
)
def test_files_of_tests_are_known_by_their_place_or_name(path: str) -> None:
    assert in_tests(path)


@pytest.mark.parametrize("path", ["pkg/attest/model.py", "latest/train.py", "contest.py", "pkg/test.d/../tester.py"])
def test_other_names_that_hold_the_word_are_no_tests(path: str) -> None:
    assert not in_tests(path)
