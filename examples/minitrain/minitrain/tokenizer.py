"""A tokenizer for numbers."""

from __future__ import annotations


class Tokenizer:
    """Turns the numbers below `vocab_size - first_number` into token ids; the ids before are special tokens."""

    first_number = 8

    def __init__(self, vocab_size: int = 64) -> None:
        self.vocab_size = vocab_size
        self.pad_token_id = 0
        self.bos_token_id = 1
        self.eos_token_id = 2
        self.image_token_id = 3

    def encode(self, numbers: list[int]) -> list[int]:
        """The token ids of numbers, which are counted in a circle."""
        return [self.first_number + number % (self.vocab_size - self.first_number) for number in numbers]
