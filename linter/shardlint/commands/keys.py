"""`shardlint keys lock` and `keys diff`: the state dict keys of a release, and what has become of them."""

from __future__ import annotations

import os
from typing import NamedTuple

from shardlint.arguments import Parsed
from shardlint.atomic import replace_file
from shardlint.changes.git import Git
from shardlint.changes.key_renames import unmapped
from shardlint.changes.locked_keys import project_roots
from shardlint.changes.states import ChangeSet, FileChange, Revision, WorkingTree
from shardlint.discover import matcher
from shardlint.errors import GitFailed, LockError, UsageError
from shardlint.facts.key_changes import KeyChange
from shardlint.facts.key_manifest import MANIFEST, Accepted, Manifest, changed_since, manifest_text, read_manifest
from shardlint.report.terminal import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.changes.states import State
    from shardlint.facts.key_manifest import Keys
    from shardlint.session import Session

    Roots = dict[str, dict[str, Keys]]

_NAMED = 5
"""How many renamed keys a refusal names before it counts the rest."""


class _Rename(NamedTuple):
    """A renamed key of a root class, and whether code in sight maps the old one."""

    path: str
    change: KeyChange
    mapped: bool


class _Keys:
    """The keys of the working tree beside earlier ones."""

    def __init__(self, session: Session) -> None:
        git = Git.at(session.root)
        if git is None:
            raise GitFailed(f"`shardlint keys` needs a git repository, and {session.root} is in none: run `git init`")
        self.git = git
        self.root = session.root
        self._excluded = matcher(session.settings.exclude_regexes)
        self.state = WorkingTree(git)
        self.now = self.roots(self.state)

    def roots(self, state: State) -> Roots:
        """The keys of the root modules of a state."""
        return project_roots(state, self._excluded)

    def locked(self) -> Manifest | None:
        """The manifest in the working tree; None if there is none. Raises LockError for a broken one."""
        try:
            with open(os.path.join(self.root, MANIFEST), "rb") as file:
                return read_manifest(file.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LockError(f"{MANIFEST} cannot be read: {error.strerror}") from None

    def renames(self, before: Roots) -> list[_Rename]:
        """The keys that were renamed since `before`."""
        changes = ChangeSet((), self.state, self.state, "before", "the working tree", self.git)
        found: list[_Rename] = []
        for path, classes in sorted(before.items()):
            content = self.state.read(path)
            if content is None or self.now.get(path) == classes:
                continue
            present = changes.module_classes(after=True).of(path, content)
            if present is None:
                continue
            changed = changed_since(classes, present)
            left = set(unmapped(FileChange(path, "modified", b"", content), changes, changed))
            found += [_Rename(path, one, one not in left) for one in changed if one.kind == "renamed"]
        return found


def keys(session: Session, command: Parsed) -> tuple[str, int]:
    """Run `shardlint keys` and give what it prints and its exit code.

    `lock` gives 0. `diff` gives 1 when a key was renamed and nothing maps the old one.

    Raises:
        UsageError: the action is none of the two, or an option belongs to the other one.
        LockError: the manifest cannot be read or may not be written.
        GitFailed: there is no repository, or it does not know the revision.
    """
    if not command.operands:
        raise UsageError("say what to do: `shardlint keys lock` or `shardlint keys diff`")
    action = command.operands[0]
    base, accept = command.one("base"), command.one("accept")
    if action == "lock":
        if base is not None:
            raise UsageError("`--base` belongs to `shardlint keys diff`: a lock always holds the working tree")
        return _lock(_Keys(session), accept), 0
    if action == "diff":
        if accept is not None:
            raise UsageError("`--accept` belongs to `shardlint keys lock`")
        return _diff(_Keys(session), base)
    raise UsageError(f"`shardlint keys {action}` is no action: use `lock` or `diff`")


def _lock(project: _Keys, reason: str | None) -> str:
    locked = project.locked()
    accepted: tuple[Accepted, ...] = ()
    if locked is not None:
        left = [one for one in project.renames(locked.roots) if not one.mapped]
        if left and reason is None:
            raise LockError(_refusal(left))
        accepted = (
            *locked.accepted,
            *(Accepted(path, change.class_name, change.old, change.new, reason or "") for path, change, _ in left),
        )
    try:
        replace_file(
            os.path.join(project.root, MANIFEST),
            manifest_text(Manifest(project.now, accepted)).encode("utf-8", "backslashreplace"),
        )
    except OSError as error:
        raise LockError(f"{MANIFEST} cannot be written: {error.strerror}") from None
    modules = sum(len(classes) for classes in project.now.values())
    count = sum(len(paths) for classes in project.now.values() for paths in classes.values())
    return f"wrote {MANIFEST}: {_number(modules, 'root module')}, {_number(count, 'key')}\n"


def _refusal(left: list[_Rename]) -> str:
    named = ", ".join(
        f"`{one.change.class_name}.{one.change.old}` is now `{one.change.new}` (line {one.change.line} of {one.path})"
        for one in left[:_NAMED]
    )
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return (
        f"{MANIFEST} was not written, because {_number(len(left), 'key')} got another name and nothing in sight maps "
        f"the old one: {named}{more}; map them where checkpoints are loaded, or say why that is not needed: "
        "shardlint keys lock --accept REASON"
    )


def _diff(project: _Keys, base: str | None) -> tuple[str, int]:
    if base is not None:
        before = project.roots(Revision(project.git, project.git.commit(base)))
    else:
        locked = project.locked()
        if locked is None:
            raise LockError(
                f"there is no {MANIFEST}: write it with `shardlint keys lock`, or compare with `--base REV`"
            )
        before = locked.roots
    renames = project.renames(before)
    lines: list[str] = []
    for path in sorted({*before, *project.now}):
        old, new = before.get(path, {}), project.now.get(path, {})
        for name in sorted({*old, *new}):
            own = [one for one in renames if one.path == path and one.change.class_name == name]
            shown = _class_lines(old.get(name, {}), new.get(name, {}), own)
            if shown:
                lines += [f"{path} {name}", *shown]
    text = "".join(f"{escaped(line)}\n" for line in lines) or "no key has changed\n"
    return text, int(any(not one.mapped for one in renames))


def _class_lines(old: Keys, new: Keys, renames: list[_Rename]) -> list[str]:
    """What became of the keys of one class: renamed, removed, added."""
    lines = [
        f"  {one.change.old} -> {one.change.new}{'' if one.mapped else '  (nothing maps the old key)'}"
        for one in renames
    ]
    lines += [f"  - {key}" for key in sorted({*old} - {*new}) if not _below(key, [one.change.old for one in renames])]
    lines += [f"  + {key}" for key in sorted({*new} - {*old}) if not _below(key, [one.change.new for one in renames])]
    return lines


def _below(key: str, tops: list[str]) -> bool:
    return any(key == top or key.startswith(f"{top}.") for top in tops)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
