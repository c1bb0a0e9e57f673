"""A number as every YAML reader takes it for a float."""

from __future__ import annotations

import pytest
import yaml

from shardlint.configs.float_text import float_text


@pytest.mark.parametrize("text", ["1e-5", "1E5", "-.5e-1", "+3.e4", "1.0e6", "95e-2", "1.0e-5"])
def test_it_is_the_same_number_and_a_float_to_yaml(text: str) -> None:
    value = yaml.safe_load(float_text(text))
    assert isinstance(value, float)
    assert value == float(text)


def test_a_number_that_is_well_written_stays() -> None:
    assert float_text("1.0e-5") == "1.0e-5"


def test_a_number_without_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match="unpack"):
        float_text("1.5")
