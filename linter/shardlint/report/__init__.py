"""Findings on paper: one module a format, imported by name when it is asked for.

`text` is for people, `concise` for editors and grep, `json` (module `json_format`) for programs, `github` for
annotations in GitHub Actions. `summary` is the closing line of a run, `statistics` the table of `--statistics`.
"""

from __future__ import annotations

FORMATS = ("text", "concise", "json", "github")
