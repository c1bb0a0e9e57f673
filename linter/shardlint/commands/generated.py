"""`shardlint generated check` and `generated lock`: whether generated files and their sources belong together."""

from __future__ import annotations

import os

from shardlint.arguments import Parsed
from shardlint.atomic import replace_file
from shardlint.changes.git import Git, read_file
from shardlint.changes.inventory import Written, inventory
from shardlint.changes.lock import LOCK, Locked, lock_text, parse_lock
from shardlint.changes.regenerate import files_below, regenerate
from shardlint.changes.states import WorkingTree
from shardlint.discover import discover, matcher
from shardlint.errors import LockError, UsageError
from shardlint.report.terminal import escaped
from shardlint.session import Session

_ACTIONS = ("check", "lock")


def generated(session: Session, parsed: Parsed) -> tuple[str, int]:
    """The text to print and the exit code: 1 if a file drifted and no reason accepts it.

    Raises:
        UsageError: neither `check` nor `lock` is asked for.
        LockError: the record is broken or cannot be written.
        GeneratorFailed: a command of the settings, under `--run`, failed.
        GitFailed: git did not answer.
    """
    action = parsed.operands[0] if parsed.operands else ""
    reason = parsed.one("accept")
    if action not in _ACTIONS:
        raise UsageError("say what to do: `shardlint generated check` or `shardlint generated lock`")
    if parsed.flag("run"):
        if action != "check":
            raise UsageError("`--run` goes with `check`: shardlint generated check --run")
        return _regenerated(session)
    if action == "check" and reason is not None:
        raise UsageError("`--accept` goes with `lock`: shardlint generated lock --accept REASON")
    target = os.path.join(session.root, LOCK)
    written = list(_inventory(session, _recorded(target)))
    drifted = [each for each in written if each.drifts]
    lines = [f"{escaped(each.path)}:{line}  {escaped(words)}\n" for each in drifted for line, words in each.drifts]
    count = "1 generated file" if len(written) == 1 else f"{len(written)} generated files"
    if drifted and reason is None:
        lines.append(f"{len(drifted)} of {count} drifted from what {'it is' if len(written) == 1 else 'they are'} ")
        lines.append(
            "generated from: run the generator, or record why with `shardlint generated lock --accept REASON`\n"
        )
        return "".join(lines), 1
    if action == "check":
        return f"{count}, none drifted\n", 0
    for each in drifted:
        each.entry.accepted = reason or ""
    _write(target, {each.path: each.entry for each in written})
    accepted = f", {len(drifted)} with a drift that was accepted" if drifted else ""
    return "".join([*lines, f"recorded {count} in {LOCK}{accepted}\n"]), 0


def _regenerated(session: Session) -> tuple[str, int]:
    """Run the commands of the settings in copies of the project, and say what they write otherwise."""
    entries = [entry for entry in session.settings.generated if entry[3]]
    if not entries:
        raise UsageError("no entry of `generated` in the settings has a `command`: add one, or leave out `--run`")
    root = session.root
    git = Git.at(root)
    paths = WorkingTree(git).paths() if git is not None else files_below(root)
    lines: list[str] = []
    code = 0
    for entry in entries:
        found = regenerate(root, paths, entry, os.environ)
        lines += [f"{escaped(path)}: {escaped(words)}\n" for path, words in found]
        lines.append(f"ran `{escaped(entry[3])}` in a copy of the project: {_differing(len(found))}\n")
        code = 1 if found else code
    return "".join(lines), code


def _differing(count: int) -> str:
    if not count:
        return "every file is as it writes it"
    return "1 file is not as it writes it" if count == 1 else f"{count} files are not as it writes them"


def _inventory(session: Session, recorded: dict[str, Locked]) -> list[Written]:
    root, settings = session.root, session.settings
    git = Git.at(root)
    if git is not None:
        tree = WorkingTree(git)
        excluded = matcher(settings.exclude_regexes)
        paths = [path for path in tree.paths() if not excluded(path)]
    else:
        paths = [file[0] for file in discover(root, (), exclude=settings.exclude_regexes).files]
    return list(inventory(paths, lambda path: read_file(os.path.join(root, path)), settings.generated, recorded))


def _recorded(target: str) -> dict[str, Locked]:
    if not os.path.lexists(target):
        return {}
    content = read_file(target)
    if content is None:
        raise LockError(f"{target} cannot be read, or is a link: make it a regular file")
    try:
        return parse_lock(content)
    except (ValueError, RecursionError) as error:
        raise LockError(f"{target} is broken ({error}): restore it, or delete it and write it anew") from None


def _write(target: str, entries: dict[str, Locked]) -> None:
    try:
        replace_file(target, lock_text(entries))
    except OSError as error:
        raise LockError(f"{target} cannot be written: {error.strerror}") from None
