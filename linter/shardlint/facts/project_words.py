"""What the Python files of the linted project spell: for a rule that asks whether anything else knows a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from shardlint.facts.path_roles import in_tests
from shardlint.prefilter import spells
from shardlint.questions import EXTENDED, HELD, MATCHED, SET, SPELLED, Questions, answer, extended, has_star

if TYPE_CHECKING:
    from shardlint.facts.project_modules import ProjectModules
    from shardlint.questions import Question


class ProjectWords:
    """The text of all Python files of the project, each read when a rule asks for it.

    `configs`: the paths of its `config.json` files, which describe a model. `memo`: what facts about the project as a
    whole keep between the files that ask. `questions`: what was asked, and which files it was answered from.
    """

    def __init__(self, paths: Iterable[str], read: Callable[[str], bytes], configs: Iterable[str] = ()) -> None:
        self.paths = frozenset(paths)
        self.configs = tuple(configs)
        self.memo: dict[object, object] = {}
        self.questions = Questions()
        self._read = read
        self._texts: dict[str, bytes] = {}
        self._answers: dict[Question, Mapping[str, int | bytes]] = {}
        self._shown: dict[Question, tuple[str, ...]] = {}
        self._stars: dict[str, bool] = {}
        self._extending: dict[str, dict[str, int]] | None = None

    def text(self, path: str) -> bytes:
        """The content of one Python file; empty when the project has none there, or it cannot be read."""
        self.questions.read.add(path)
        return self._text(path)

    def binds(self, path: str, name: str) -> bool:
        """Whether a file can give a name a meaning: by spelling it, or by taking over all names of another one."""
        if name.encode() in self._text(path) or self._has_star(path):
            self.questions.read.add(path)
            return True
        self.questions.absent.setdefault(path, set()).add(name)
        return False

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each Python file by its path. Whoever asks is asked again when any file changes."""
        self.questions.everything = True
        return self._files

    @property
    def config_texts(self) -> list[bytes]:
        """The content of each `config.json`."""
        self.questions.configs = True
        return [self._content(path) for path in self.configs]

    @cached_property
    def modules(self) -> ProjectModules:
        """The same files as parsed modules."""
        from shardlint.facts.project_modules import ProjectModules

        return ProjectModules(self)

    def holding(self, word: str) -> list[str]:
        """The files that spell an identifier, sorted."""
        return list(self._answered((SPELLED, word, "")))

    def naming(self, word: str, most: int) -> list[str] | None:
        """The files outside of tests that spell an identifier, sorted; None if there are more than `most`."""
        question = (SPELLED, word, "")
        if question not in self._answers and question not in self._shown:
            found, outside, text = dict[str, int | bytes](), list[str](), word.encode()
            for path, data in self._files.items():
                if spells(data, text):
                    found[path] = 1
                    outside += () if in_tests(path) else (path,)
                    if len(outside) > most:
                        self._shown[question] = tuple(outside)
                        break
            else:
                self._answers[question] = found
        if question not in self._answers:
            self.questions.shown[question] = self._shown[question]
            return None
        named = [path for path in self.holding(word) if not in_tests(path)]
        return named if len(named) <= most else None

    def extending(self, word: str) -> list[str]:
        """The files with a class among whose bases an identifier stands, sorted."""
        if self._extending is None:
            self._extending = {}
            for path, data in self._files.items():
                for name in extended(data):
                    self._extending.setdefault(name, {})[path] = 1
        found = self.questions.answers[EXTENDED, word, ""] = self._extending.get(word, {})
        return list(found)

    def sets(self, owner: str, attribute: str) -> bool:
        """Whether a file that spells the name of a class sets an attribute of an object, other than by `self.`."""
        return self._anywhere((SET, owner, attribute), self.holding(owner))

    def reads(self, name: str) -> int:
        """How often `.name` is read, or `"name"` written as a text, in all files together."""
        return self.count(name, rf"\.\s*{name}\b(?!\s*=[^=])|(['\"]){name}\1")

    def count(self, word: str, pattern: str) -> int:
        """How often a regular expression, whose matches all hold `word`, matches in all files together."""
        return sum(found for found in self._answered((MATCHED, word, pattern)).values() if isinstance(found, int))

    def matching(self, word: str, pattern: str) -> list[str]:
        """The files in which a regular expression, whose matches all hold `word`, matches, sorted."""
        return list(self._answered((MATCHED, word, pattern)))

    def anywhere(self, word: str, pattern: str) -> bool:
        """Whether a regular expression, whose matches all hold `word`, matches in some file."""
        return self._anywhere((MATCHED, word, pattern), self._files)

    def texts_with(self, text: str) -> Iterator[tuple[str, bytes]]:
        """The path and content of each file that holds a text anywhere, sorted."""
        for path in self._answered((HELD, text, "")):
            yield path, self._content(path)

    def _answered(self, question: Question) -> Mapping[str, int | bytes]:
        """The files that have an answer to a question, sorted, with the answer."""
        if question not in self._answers:
            text = question[1].encode()
            holding = ((path, data) for path, data in self._files.items() if text in data)
            found = ((path, answer(question, data)) for path, data in holding)
            self._answers[question] = {path: said for path, said in found if said}
        self.questions.answers[question] = self._answers[question]
        return self._answers[question]

    def _anywhere(self, question: Question, paths: Iterable[str]) -> bool:
        """Whether one of some files, those that may have an answer to a question, has one."""
        if question not in self._shown:
            first = next((path for path in paths if answer(question, self._content(path))), None)
            self._shown[question] = () if first is None else (first,)
        shown = self._shown[question]
        if shown:
            self.questions.shown[question] = shown
        else:
            self.questions.answers[question] = {}
        return bool(shown)

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return {path: self._content(path) for path in sorted(self.paths)}

    def _has_star(self, path: str) -> bool:
        if path not in self._stars:
            self._stars[path] = has_star(self._text(path))
        return self._stars[path]

    def _text(self, path: str) -> bytes:
        return self._content(path) if path in self.paths else b""

    def _content(self, path: str) -> bytes:
        if path not in self._texts:
            try:
                self._texts[path] = self._read(path)
            except OSError:
                self._texts[path] = b""
        return self._texts[path]
