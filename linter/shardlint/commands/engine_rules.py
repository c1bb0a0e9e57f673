"""The pages of the engine's own rules: findings about the run itself, not about a training job."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.finding import Severity

FAMILY = "engine"


class EngineRule:
    """One of the engine's own findings. `text` holds the same headings as the docstring of a rule."""

    __slots__ = ("fix", "name", "severity", "text")

    def __init__(self, name: str, severity: Severity, text: str, fix: str = "") -> None:
        self.name = name
        self.severity: Severity = severity
        self.text = text
        self.fix = fix


PAGES = (
    EngineRule(
        "syntax-error",
        "error",
        """Reports a Python file that a rule would look at and that does not parse.

Why is this bad?
The job cannot import the file, and no rule could look at it: silence about it means nothing.

Use instead
Make it valid Python, or exclude it in the settings if it is a template that is not meant to be imported.

Known limits
Files are parsed with the grammar of the Python that runs shardlint: syntax of a later one is reported too. A file that
no rule would look at is not parsed.""",
    ),
    EngineRule(
        "broken-document",
        "error",
        """Reports a YAML, JSON or TOML file that a rule would look at and that cannot be read.

Why is this bad?
The job that loads it stops at its start, and no rule could look at it.

Use instead
Repair the line that the message names, or exclude the file in the settings if it is a template.

Known limits
A file that no rule would look at is not read.""",
    ),
    EngineRule(
        "unused-suppression",
        "warning",
        """Reports a `# shardlint: ignore[...]` that hides nothing.

Why is this bad?
A comment that outlives its finding will hide the next one at the same place, and readers take the mistake that it
names for a present one.

Use instead
Remove the name from the comment, or the whole comment; `shardlint check --fix` does it.

Known limits
A name is judged only in a run in which its rule was on.""",
        "nothing but the comment changes",
    ),
    EngineRule(
        "unknown-suppression",
        "warning",
        """Reports a suppression that cannot work: its name is no rule and no family, or its form is not understood.

Why is this bad?
It looks as if it hid something, but it hides nothing.

Use instead
Write `# shardlint: ignore[rule-name] reason`; `shardlint rules` lists the names.

Known limits
The names of a rule pack that is not installed are unknown.""",
    ),
    EngineRule(
        "not-checked",
        "note",
        """Tells, under `--show-unknown`, what could not be judged, and why.

Why is this bad?
It is no mistake. But where a rule met something that it does not know, its silence is no proof of health.

Use instead
Where it matters, make the unknown call resolvable (import it by name, annotate the receiver), or name your own
collectives in the settings under `collectives`.

Known limits
Only functions in which ranks part, configs that nothing recognised and files that are no source are listed.""",
    ),
)
