"""What a change rule is handed: one file in its two states, with the rest of both states within reach."""

from __future__ import annotations

from collections.abc import Sequence

from shardlint.changes.edit import first_changed_line, same_code
from shardlint.changes.generated_file import Declared, GeneratedFile, declaration, generated_file
from shardlint.changes.key_renames import key_renames, key_reshapes
from shardlint.changes.outputs import StaleOutput, orphans, stale_outputs
from shardlint.changes.stale_patterns import StalePattern, stale_patterns
from shardlint.changes.states import ChangeSet, FileChange
from shardlint.facts.path_roles import in_tests
from shardlint.finding import Finding, Fix, Related, Span
from shardlint.voice import Voice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.changes.rename_entry import RenameEntries
    from shardlint.facts.key_changes import KeyChange
    from shardlint.syntax.edit import Edit


class Change:
    """A changed file. Texts are decoded as UTF-8 with replacement, their line ends are newlines."""

    def __init__(self, file: FileChange, changes: ChangeSet, voice: Voice, declared: Sequence[Declared] = ()) -> None:
        self.file = file
        self.changes = changes
        self.voice = voice
        self._declared = declared
        self._generated: tuple[GeneratedFile | None] | None = None
        self._renames: tuple[KeyChange, ...] | None = None
        self._entries: RenameEntries | None = None

    @property
    def path(self) -> str:
        """The path of the file in the later state (in the earlier one when it was deleted)."""
        return self.file.path

    @property
    def before(self) -> str | None:
        """The earlier text; None when the file is new."""
        return _text(self.file.before)

    @property
    def after(self) -> str | None:
        """The later text; None when the file was deleted."""
        return _text(self.file.after)

    @property
    def since(self) -> str:
        """Words for the earlier state: `HEAD`, `the merge base of main and HEAD (0123456789)`."""
        return self.changes.before_name

    @property
    def generated(self) -> GeneratedFile | None:
        """What is known of a file that a generator writes; None for any other, and for a deleted one."""
        if self._generated is None:
            declared = declaration(self.path, self._declared)
            self._generated = (generated_file(self.file, self.changes, declared),)
        return self._generated[0]

    @property
    def same_code(self) -> bool:
        """Whether only layout, comments, docstrings, the order of imports or a version stamp changed."""
        before, after = self.before, self.after
        return before is not None and after is not None and same_code(self.path, before, after)

    @property
    def restores(self) -> bool:
        """Whether the file has a content again that an earlier commit gave it."""
        return self.changes.restores(self.path)

    @property
    def in_tests(self) -> bool:
        """Whether the file is part of tests."""
        return in_tests(self.path)

    @property
    def first_line(self) -> int:
        """The line of the later text, from 1, where the change begins, comments and blank lines apart."""
        return first_changed_line(self.before or "", self.after or "")

    def key_renames(self) -> Sequence[KeyChange]:
        """The state dict keys that the change renames, without any code in sight that maps the old ones."""
        if self._renames is None:
            self._renames = tuple(key_renames(self.file, self.changes))
        return self._renames

    def rename_entry(self, renamed: KeyChange) -> Edit | None:
        """The edit that adds one of `key_renames` to the table of renames that the model already has.

        None where there is none, or where its place, its form or its direction is not certain.
        """
        if self._entries is None:
            from shardlint.changes.rename_entry import RenameEntries

            self._entries = RenameEntries(self.file, self.key_renames(), self.changes, self._declared)
        return self._entries.edit(renamed)

    def key_reshapes(self) -> Sequence[KeyChange]:
        """The state dict keys whose tensors the change gives another shape, without a conversion that names them."""
        return key_reshapes(self.file, self.changes)

    def stale_patterns(self) -> Sequence[StalePattern]:
        """The plan patterns, LoRA targets and other lists of the later state that a renamed key left behind."""
        return tuple(stale_patterns(self.file, self.changes))

    def stale_outputs(self) -> Sequence[StaleOutput]:
        """The generated files that this one is a source of and that the change leaves as they were."""
        return stale_outputs(self.file, self.changes, self._declared)

    def orphans(self) -> Sequence[tuple[str, int]]:
        """The generated files whose last source was this deleted file: path and line of the header."""
        return orphans(self.file, self.changes, self._declared)

    def finding(
        self,
        message: str,
        *,
        help: str,
        line: int = 1,
        column: int = 1,
        related: Sequence[tuple[str, int, str]] = (),
        scope: str = "",
        certainty: float = 1.0,
        path: str | None = None,
        edit: Edit | None = None,
    ) -> Finding:
        """A finding in the later state of the file, or of `path`: from `column` to the end of `line`.

        Args:
            related: other places that explain it: path, line and words.
            scope: the class or function around it, which names the finding across edits.
            certainty: of the match: 1.0 read off the files, 0.8 inferred, 0.6 by name only.
            edit: the fix, where the rule has one for this finding; its `fixes` says whether it is safe.
        """
        content = self.after if path is None else _text(self.changes.read_after(path))
        lines = (content or "").split("\n")
        text = lines[line - 1] if line <= len(lines) else ""
        found = self.voice.finding(
            path or self.path,
            Span(line, column, line, max(len(text), column) + 1),
            message,
            help=help,
            related=tuple(Related(path, at, 1, words) for path, at, words in related),
            certainty=certainty,
            scope=scope,
            line=text,
            fixable=edit is not None,
        )
        if edit is None or found.fix is None:
            return found
        return found.replace(fix=Fix(found.fix.safe, found.fix.reason, tuple(edit.edits), edit.path))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
