"""The record of incidents that taught nothing that a check could hold: an explicit choice, beside the constraints."""

from __future__ import annotations

from shardlint.knowledge.capture.writing import is_markdown

HEADING = "## Incidents without a new constraint"
_KEY = "incidents"


def add_nothing_new(text: str, file: str, symptom: str, reason: str) -> str:
    """A constraint file with one more incident in its record; nothing else of it changes."""
    newline = "\r\n" if "\r\n" in text else "\n"
    said, why = " ".join(symptom.split()).rstrip("."), " ".join(reason.split()).rstrip(".")
    if is_markdown(file):
        lines = text.replace("\r\n", "\n").rstrip("\n").split("\n") if text else ["# Constraints"]
        entry = f"- {said}. No new constraint: {why}."
        if HEADING in lines:
            at = lines.index(HEADING) + 1
            end = next((number for number in range(at, len(lines)) if lines[number].startswith("#")), len(lines))
            while end > at and not lines[end - 1].strip():
                end -= 1
            lines[end:end] = [*([""] if end == at else []), entry]
        else:
            lines += ["", HEADING, "", entry]
        return newline.join(lines) + newline
    from shardlint.knowledge.capture.formatting import block_text

    entry = block_text({_KEY: [{"symptom": said, "reason": why}]})
    if not text.strip():
        return f"version: 1\nconstraints: []\n{entry}"
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith(f"{_KEY}:")), None)
    if start is None:
        return newline.join([*lines[: len(lines) - (not lines[-1])], *entry.split("\n")])
    end = next((n for n in range(start + 1, len(lines)) if lines[n] and not lines[n][0].isspace()), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    lines[end:end] = entry.rstrip("\n").split("\n")[1:]
    return newline.join(lines)
