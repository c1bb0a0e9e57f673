"""The fingerprint of a finding: the same before and after edits elsewhere in its file.

It is made of the rule, the scope and the text of the line, never of a line number. Two findings that look alike get
the same fingerprint; the baseline counts them, so it still notices a third one.
"""

from __future__ import annotations


def fingerprint(rule: str, scope: str, line_text: str) -> str:
    """Twenty hexadecimal digits for one finding.

    Args:
        rule: the name of the rule.
        scope: the qualified name of the enclosing function or class, or the config pointer; "" for the file itself.
        line_text: the first line of the finding. Runs of white space count as one space, so that a new indentation
            or another line ending keeps the fingerprint.
    """
    try:
        # The C module itself: `hashlib` would load OpenSSL on every warm run.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    parts = (rule, scope, " ".join(line_text.split()))
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
