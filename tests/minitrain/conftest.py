"""One copy of minitrain for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .copies import Copy


@pytest.fixture(scope="session")
def shared_copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy behind `copy`."""
    return Copy(tmp_path_factory.mktemp("minitrain"))


@pytest.fixture
def copy(shared_copy: Copy) -> Iterator[Copy]:
    """A copy of minitrain without bugs."""
    yield shared_copy
    shared_copy.restore()
