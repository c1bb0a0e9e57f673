"""Something that is wrong with one constraint."""

from __future__ import annotations


class CheckProblem(Exception):
    """A check that cannot be taken as it is written.

    `where` is the place inside the block, outermost first: `("pattern", "not_inside", 1)`. `str()` is one sentence that
    says what is wrong and what to write instead; it names neither file nor line, which the reader of the file adds.
    """

    def __init__(self, where: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.where = where
