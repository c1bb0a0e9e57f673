"""How a number is written so that every YAML reader takes it for a float."""

from __future__ import annotations

import re


def float_text(text: str) -> str:
    """A number in scientific notation with a digit on both sides of a dot, and a sign in the exponent.

    YAML 1.1 wants both (https://yaml.org/type/float.html). Raises ValueError when the text has no exponent.
    """
    mantissa, e, exponent = re.split(r"([eE])", text)
    sign = mantissa[0] if mantissa[0] in "+-" else ""
    whole, _, part = mantissa.removeprefix(sign).partition(".")
    return f"{sign}{whole or '0'}.{part or '0'}{e}{exponent if exponent[0] in '+-' else '+' + exponent}"


__all__ = ["float_text"]
