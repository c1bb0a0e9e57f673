"""Every failure that a user can meet, each with its sentence.

    ShardlintError
    ├── UsageError            the command line cannot be understood
    ├── SettingsError         [tool.shardlint] or shardlint.toml is wrong
    ├── PackError             a rule pack is broken
    ├── ConstraintError       a constraint file is wrong
    ├── CaptureRefused        an incident cannot become a constraint as it is told
    ├── UnreadableFile        a file named on the command line cannot be read
    ├── UndecodableSource     the bytes of a Python file are no text in its encoding
    ├── BaselineError         the baseline file is not one
    ├── LockError             the record of generated files is broken
    ├── GeneratorFailed       the command that writes generated files did not do so
    ├── PlanError             model facts, a plan or a mesh cannot be read
    ├── PlanFailed            the process that runs the user's model did not deliver
    │   ├── InterpreterFailed     the interpreter cannot be started, or has no torch
    │   ├── ModelRefused          what was named is not there, or is no model or plan
    │   ├── ModelRaised           the user's code raised
    │   ├── ModelExited           the user's code ended the process
    │   ├── ModelCrashed          a signal ended the process
    │   ├── ModelTimedOut         the time was up
    │   └── ModelOutOfMemory      the memory was used up
    ├── CheckpointError       a checkpoint cannot be read, or asks for more than its keys
    ├── FixRefused            an edit cannot be written safely
    └── GitFailed             git is needed for what was asked and did not answer

`cli` turns each into one sentence on standard error and exit code 2.
"""

from __future__ import annotations


class ShardlintError(Exception):
    """Anything that stops a run. Its text is the sentence that the user reads."""


class UsageError(ShardlintError):
    """The command line cannot be understood; the text says what to type instead."""


class SettingsError(ShardlintError):
    """A settings file is wrong: the text names the file, the key and what is allowed."""


class ConstraintError(ShardlintError):
    """A constraint cannot be taken: the text has a line for each problem, with the file and the line in it."""


class CaptureRefused(ShardlintError):
    """An incident cannot become a constraint: the text says what is missing, or what the check does wrong."""


class PackError(ShardlintError):
    """A rule pack cannot be loaded: the text names the pack, the rule and what is missing."""


class UnreadableFile(ShardlintError):
    """A file that was named on the command line is missing or cannot be read."""


class UndecodableSource(ShardlintError):
    """The bytes of a Python file are no text in its encoding. The engine reports it as a finding at `line`, from 1."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.line = line


class BaselineError(ShardlintError):
    """The baseline file cannot be read as one, or may not be written by this run."""


class LockError(ShardlintError):
    """The record of generated files cannot be read as one, or cannot be written."""


class GeneratorFailed(ShardlintError):
    """The command of the settings that writes generated files cannot be run, or failed."""


class PlanError(ShardlintError):
    """Model facts, a parallel plan or a mesh cannot be read: the text says where, and what is allowed."""


class PlanFailed(ShardlintError):
    """The process that imports the user's model did not deliver what was asked.

    Args:
        sentence: what failed, and why.
        stage: in which stage: `start`, `import`, `build`, `facts` or `plan`.
        frames: the user's own part of the traceback, a line each, the innermost last.
        output: the end of what the process printed.
    """

    def __init__(self, sentence: str, stage: str, frames: tuple[str, ...] = (), output: str = "") -> None:
        super().__init__(sentence)
        self.stage = stage
        self.frames = frames
        self.output = output


class InterpreterFailed(PlanFailed):
    """The interpreter cannot be started, or has no torch."""


class ModelRefused(PlanFailed):
    """What was named is not there, or is no model, config or plan."""


class ModelRaised(PlanFailed):
    """The user's code raised."""


class ModelExited(PlanFailed):
    """The user's code ended the process."""


class ModelCrashed(PlanFailed):
    """A signal ended the process."""


class ModelTimedOut(PlanFailed):
    """The process did not end in time."""


class ModelOutOfMemory(PlanFailed):
    """The process used up the memory that it was given."""


class CheckpointError(ShardlintError):
    """A checkpoint cannot be read without its weights, or asks for what reading its keys does not need."""


class FixRefused(ShardlintError):
    """A fix was not written, and why; the file is unchanged."""


class GitFailed(ShardlintError):
    """git is needed for what was asked, and it is missing or did not answer."""


class MissingContent(GitFailed):
    """A partial clone lacks the content of a file, and nothing is fetched here."""
