"""argv -> exit code; the only place that prints or exits.

0: nothing at or above `--fail-on`. 1: findings. 2: the run failed, or something could not be checked as asked.
"""

from __future__ import annotations

import os
import sys

from shardlint.arguments import EACH, FLAG, MANY, ONE, Command, Option, Parsed, parse, usage
from shardlint.errors import ShardlintError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FORMATS = ("text", "concise", "json", "github")

_HELP = Option("--help", FLAG, "this text")
_SELECT = Option("--select", MANY, "only these rules or families", "NAMES")
_IGNORE = Option("--ignore", MANY, "not these rules or families", "NAMES")
_FORMAT = Option("--output-format", ONE, "text, concise, json or github", "FORMAT", FORMATS)
_FAIL_ON = Option("--fail-on", ONE, "the mildest severity that fails the run", "SEVERITY", ("error", "warning", "note"))
_EXIT_ZERO = Option("--exit-zero", FLAG, "exit with 0 even when there are findings")

CHECK = Command(
    "check",
    "[PATHS]",
    "Look for mistakes in the project, or report only those in PATHS. Nothing that is linted is ever run or imported.",
    (
        Option("--fix", FLAG, "write the safe fixes"),
        Option("--unsafe-fixes", FLAG, "with --fix or --diff: also those that may change a healthy run"),
        Option("--diff", FLAG, "show what --fix would write, and write nothing"),
        _SELECT,
        _IGNORE,
        Option("--extend-select", MANY, "these rules or families besides the usual ones", "NAMES"),
        Option("--base", ONE, "judge the change since a revision", "REV"),
        Option("--staged", FLAG, "judge what the next commit will hold"),
        Option("--baseline", ONE, "report only findings that this file does not list", "FILE"),
        Option("--write-baseline", ONE, "write the findings of a full run to this file", "FILE"),
        _FORMAT,
        Option("--output-file", ONE, "write the report there instead of to standard output", "FILE"),
        _FAIL_ON,
        Option("--min-confidence", ONE, "leave out findings that are less sure", "NUMBER"),
        Option("--statistics", FLAG, "counts for each rule instead of the findings"),
        Option("--why", ONE, "what is known at one line: facts, guards, unresolved calls", "FILE:LINE"),
        Option("--no-cache", FLAG, "neither read nor write results"),
        Option("--jobs", ONE, "processes at most (default: one for each core)", "NUMBER"),
        Option("--timings", FLAG, "where the time went, for each stage and rule"),
        Option("--show-files", FLAG, "list the files that would be checked"),
        Option("--show-settings", FLAG, "print the settings in force"),
        Option("--show-unknown", FLAG, "list what could not be judged, as notes"),
        _EXIT_ZERO,
        _HELP,
    ),
)
EXPLAIN = Command(
    "explain",
    "RULE",
    "What a rule checks, why, and how to write it instead.",
    (_HELP,),
    0,
    1,
)
RULES = Command(
    "rules",
    "[test [PACK]]",
    "List all rules; `rules test` runs the examples of a pack's rules.",
    (
        Option("--catalogue", FLAG, "print the catalogue as Markdown"),
        Option("--output-format", ONE, "text or json", "FORMAT", ("text", "json")),
        _HELP,
    ),
    0,
    2,
)
INIT = Command(
    "init",
    "",
    "Add the pre-commit hook, the settings table and a Makefile target. Shows the change first.",
    (Option("--yes", FLAG, "write without asking"), _HELP),
    0,
    0,
)
GENERATED = Command(
    "generated",
    "check|lock",
    "Whether generated files are what their sources generate; `lock` records digests of both.",
    (
        Option("--accept", ONE, "with lock: record drifted files too, and why", "REASON"),
        Option("--run", FLAG, "with check: run the commands of the settings, your code, in a copy of the project"),
        _HELP,
    ),
    0,
    1,
)
KEYS = Command(
    "keys",
    "lock|diff",
    "Record the state dict keys of a release, or show what has become of them.",
    (
        Option("--accept", ONE, "lock although renamed keys are mapped nowhere, and record why", "REASON"),
        Option("--base", ONE, "compare with a revision instead of with the record", "REV"),
        _HELP,
    ),
    0,
    1,
)
PLAN = Command(
    "plan",
    "[NAME... | MODULE:FACTORY]",
    "Judge parallel plans against their models. Runs your code, in a process of its own; loads no weights.",
    (
        Option("--plan", ONE, "with MODULE:FACTORY: MODULE:PLAN, veomni, hf-tp or hf-ep", "PLAN"),
        Option("--mesh", ONE, "axes and sizes: ep=16,fsdp=8", "MESH"),
        Option("--world", ONE, "how many processes there are", "NUMBER"),
        Option("--budget-gib", ONE, "what a rank may hold", "NUMBER"),
        Option("--python", ONE, "the interpreter of the training environment", "FILE"),
        Option("--timeout", ONE, "seconds for each target (default: 120)", "NUMBER"),
        Option("--facts-out", ONE, "also write what was learnt of the model", "FILE"),
        Option("--facts-in", ONE, "judge what --facts-out wrote: no code is run", "FILE"),
        _FORMAT,
        _FAIL_ON,
        Option("--changed", FLAG, "the operands are changed files: judge the targets that they are part of"),
        Option("--no-cache", FLAG, "learn the model anew"),
        _HELP,
    ),
)
CHECKPOINT = Command(
    "checkpoint",
    "DIR",
    "Compare the keys of a checkpoint with a model, before a job loads it. Reads no weight and runs nothing.",
    (
        Option("--facts-in", ONE, "the facts of the model, as JSON", "FILE"),
        Option("--target", ONE, "the model of a target in the settings", "NAME"),
        Option("--resume", FLAG, "a job is to go on from it: the optimizer's state is wanted too"),
        Option("--write-mapping", FLAG, "print a table of renames to review instead of the findings"),
        _SELECT,
        _IGNORE,
        _FORMAT,
        _FAIL_ON,
        _EXIT_ZERO,
        _HELP,
    ),
    0,
    1,
)
CONSTRAINTS = Command(
    "constraints",
    "check|test|list|coverage",
    "What the constraint files of the project hold: whether it can be taken, tested, and what is only prose.",
    (
        Option("--output-format", ONE, "with list and coverage: text or json", "FORMAT", ("text", "json")),
        _HELP,
    ),
)
CAPTURE = Command(
    "capture",
    "[INCIDENT]",
    "Make a constraint of a solved incident: propose a check from the code before and after, prove it, write it down.",
    (
        Option("--bad", ONE, "the code or config before the fix", "FILE"),
        Option("--good", ONE, "the same after it", "FILE"),
        Option("--title", ONE, "what must hold from now on", "TEXT"),
        Option("--id", ONE, "the name of the rule (default: from the title)", "NAME"),
        Option("--symptom", ONE, "what was seen", "TEXT"),
        Option("--cause", ONE, "why it happened", "TEXT"),
        Option(
            "--evidence", ONE, "inference, research or observation", "KIND", ("inference", "research", "observation")
        ),
        Option("--reference", EACH, "what the evidence rests on", "TEXT"),
        Option("--verification", ONE, "how it was seen that the fix works", "TEXT"),
        Option("--severity", ONE, "how grave a finding is", "SEVERITY", ("error", "warning", "note")),
        Option("--message", ONE, "what a finding says (default: the title)", "TEXT"),
        Option("--instead", ONE, "what to write instead", "TEXT"),
        Option("--pattern", ONE, "the check on code, if it is not to be proposed", "CODE"),
        Option("--require", ONE, "the check on configs, if it is not to be proposed", "EXPRESSION"),
        Option("--files", MANY, "the configs that it holds for", "PATTERNS"),
        Option("--paths", MANY, "the files that it holds in", "PATTERNS"),
        Option("--exclude", MANY, "files that it does not hold in", "PATTERNS"),
        Option("--candidate", ONE, "which of the proposals that hold (default: the first)", "NUMBER"),
        Option("--confirm-hits", FLAG, "the other places that it hits are defects, too"),
        Option("--baseline-hits", FLAG, "put the other places off: into the baseline"),
        Option("--to", ONE, "the constraint file (default: the first that the project has)", "FILE"),
        Option("--section", ONE, "the heading below which it belongs", "HEADING"),
        Option("--number", ONE, "a statement that is there already and gets the check", "NUMBER"),
        Option("--no-new-knowledge", ONE, "record instead that the incident taught nothing new, and why", "REASON"),
        Option("--dry-run", FLAG, "show what would be written, and write nothing"),
        Option("--yes", FLAG, "ask nothing, even at a terminal"),
        _HELP,
    ),
    0,
    1,
)
COMMANDS = {
    command.name: command
    for command in (CHECK, EXPLAIN, RULES, INIT, KEYS, GENERATED, PLAN, CHECKPOINT, CONSTRAINTS, CAPTURE)
}


def entry() -> None:
    """The console script. Leaves without tearing down the interpreter: that would cost as much as a warm run."""
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 2  # whoever read the report, `head` for one, has seen enough of it
    os._exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one command line and give its exit code."""
    import gc

    gc.disable()
    _tolerant_output()
    try:
        return _dispatch(list(argv))
    except ShardlintError as error:
        _say(f"shardlint: {_shown(error)}\n")
        return 2
    except KeyboardInterrupt:
        _say("shardlint: interrupted\n")
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception:
        import traceback

        _say(
            f"{traceback.format_exc()}shardlint: this is a mistake in shardlint itself; please report the lines above\n"
        )
        return 2


def _tolerant_output() -> None:
    """Names in messages may be in any script; a terminal that cannot show them must not stop the report."""
    for stream in (sys.stdout, sys.stderr):
        if stream.encoding.lower().replace("-", "") != "utf8" or stream.errors == "strict":
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")


def _shown(error: ShardlintError) -> str:
    """The sentence of an error. What it quotes of a repository must command neither a terminal nor GitHub."""
    from shardlint.report.terminal import line_start

    return "\n".join(line_start(line) for line in str(error).split("\n"))


def _say(text: str) -> None:
    sys.stderr.write(text)


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("--help", "-h", "help"):
        (sys.stdout if argv else sys.stderr).write(_overview())
        return 0 if argv else 2
    if argv[0] in ("--version", "-V"):
        from shardlint import __version__

        sys.stdout.write(f"shardlint {__version__}\n")
        return 0
    if argv[0].startswith("-") or (argv[0] not in COMMANDS and os.path.exists(argv[0])):
        raise UsageError(f"put a command first: shardlint check {' '.join(argv)}")
    parsed = parse(argv, COMMANDS)
    if parsed.flag("help"):
        sys.stdout.write(usage(COMMANDS[parsed.command]))
        return 0
    handlers: dict[str, Callable[[Parsed], int]] = {
        "check": _check,
        "explain": _explain,
        "rules": _rules,
        "init": _init,
        "keys": _keys,
        "generated": _generated,
        "plan": _plan,
        "checkpoint": _checkpoint,
        "constraints": _constraints,
        "capture": _capture,
    }
    return handlers[parsed.command](parsed)


def _overview() -> str:
    lines = ["shardlint finds, before the launch, the mistakes that stop or spoil a training job on many devices.", ""]
    lines += ["usage: shardlint COMMAND", ""]
    lines += [f"  {f'{command.name} {command.operands}':<24} {command.help}" for command in COMMANDS.values()]
    lines += ["", "Start with: shardlint check", "One rule:   shardlint explain rank-guarded-checkpoint"]
    return "\n".join(lines) + "\n"


def _check(parsed: Parsed) -> int:
    from shardlint.commands.check import check

    return check(parsed, sys.stdout, sys.stderr, os.environ)


def _explain(parsed: Parsed) -> int:
    from shardlint.commands.explain import explain
    from shardlint.session import open_session

    if not parsed.operands:
        raise UsageError("name a rule: shardlint explain rank-guarded-checkpoint; `shardlint rules` lists them")
    sys.stdout.write(explain(open_session(os.getcwd(), os.environ), parsed.operands[0]))
    return 0


def _rules(parsed: Parsed) -> int:
    from shardlint.commands.rules import rules

    text, code = rules(parsed)
    sys.stdout.write(text)
    return code


def _init(parsed: Parsed) -> int:
    from shardlint.commands.init import init

    return init(parsed.flag("yes"), sys.stdin, sys.stdout)


def _generated(parsed: Parsed) -> int:
    from shardlint.commands.generated import generated
    from shardlint.session import open_session

    text, code = generated(open_session(os.getcwd(), os.environ), parsed)
    sys.stdout.write(text)
    return code


def _keys(parsed: Parsed) -> int:
    from shardlint.commands.keys import keys
    from shardlint.session import open_session

    text, code = keys(open_session(os.getcwd(), os.environ), parsed)
    sys.stdout.write(text)
    return code


def _plan(parsed: Parsed) -> int:
    from shardlint.commands.plan import plan
    from shardlint.session import open_session

    return plan(open_session(os.getcwd(), os.environ), parsed, sys.stdout, sys.stderr, os.environ)


def _checkpoint(parsed: Parsed) -> int:
    from shardlint.commands.checkpoint import checkpoint
    from shardlint.session import open_session

    text, code = checkpoint(open_session(os.getcwd(), os.environ), parsed, sys.stdout, os.environ)
    sys.stdout.write(text)
    return code


def _constraints(parsed: Parsed) -> int:
    from shardlint.commands.constraints import constraints

    text, code = constraints(parsed, os.getcwd())
    sys.stdout.write(text)
    return code


def _capture(parsed: Parsed) -> int:
    from shardlint.commands.capture import capture

    return capture(parsed, sys.stdin, sys.stdout, os.environ)
