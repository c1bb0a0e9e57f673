"""One copy of minitrain for all tests of a worker, and gloo processes that run it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .copies import Copy
from .ranks import Ranks


@pytest.fixture(scope="session")
def shared_copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy behind `copy`."""
    return Copy(tmp_path_factory.mktemp("minitrain"))


@pytest.fixture
def copy(shared_copy: Copy) -> Iterator[Copy]:
    """A copy of minitrain without bugs."""
    yield shared_copy
    shared_copy.restore()


@pytest.fixture(scope="session")
def shared_ranks(shared_copy: Copy) -> Iterator[Ranks]:
    """The processes behind `ranks`."""
    with Ranks(shared_copy.folder) as ranks:
        yield ranks


@pytest.fixture
def ranks(copy: Copy, shared_ranks: Ranks) -> Ranks:
    """Gloo processes that run the code of `copy`, with the bugs that it has when a job begins."""
    del copy
    return shared_ranks
