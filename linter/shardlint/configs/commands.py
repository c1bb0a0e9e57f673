"""The commands of a shell text, with the variables that the text itself sets: nothing is ever run.

Read as far as launchers are written: quotes, continued lines, environment prefixes, `${N:=8}`, arrays, loops over a
list, `cd`, `eval` and `bash -c`. What only a run can tell (`$1`, `$(date)`, a variable of the caller, one that a branch
sets) is `UNKNOWN` in the word where it stands. Here-documents are text, not commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

UNKNOWN = "\0"
"""Stands in a word for what cannot be told."""

_LARGEST = 200_000
"""Characters. A longer text is no launcher."""

_MOST = 64
"""Words that one word may become, by a loop or an array."""

_LONGEST = 4_000
"""Characters of a word. A longer one is no path and no option, and doubling a variable would not end."""

_WORDS = 1_000
"""Words of a command that are read."""

_DEEPEST = 3
"""Texts within texts (`bash -c "bash -c ..."`) that are read."""

_TOKEN = re.compile(
    r"""
    (?P<joint> \\\r?\n )
  | (?P<newline> \n )
  | (?P<blank> [ \t\r\f\v]+ )
  | (?P<redirect> (?<![\w.-])\d?(?:<<<|<<-?|>>|<&|>&|>\||<>|<(?!\()|>(?!\()) | &>>? )
  | (?P<operator> &&|\|\||\|&|;;&?|;&|[;&|()] | [<>](?=\() )
  | (?P<single> \$?'[^']{0,4000}' )
  | (?P<double> "(?:
        [^"\\$`] | \\. | \$\( (?: [^()] | \([^()]{0,200}\) ){0,300} \) | \$(?!\() | `[^`]{0,300}`
    ){0,4000}" )
  | (?P<run> \$\( (?: [^()] | \( (?: [^()] | \([^()]{0,200}\) ){0,200} \) ){0,300} \) | `[^`]{0,300}` )
  | \$\{ (?P<braced>[A-Za-z_]\w*) (?:\[[@*]\])? (?: :?[-=] (?P<default>[^{}]{0,300}) )? \}
  | \$ (?P<bare> [A-Za-z_]\w* )
  | (?P<other> \$\{[^}]{0,300}\} | \$[\d@*\#?!$-] )
  | \\ (?P<escaped> . )
  | (?P<plain> [^\s\\'"$`;&|()<>]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_INSIDE = re.compile(
    r"""
    (?P<run> \$\( (?: [^()] | \([^()]{0,200}\) ){0,300} \) | `[^`]{0,300}` )
  | \$\{ (?P<braced>[A-Za-z_]\w*) (?:\[[@*]\])? (?: :?[-=] (?P<default>[^{}]{0,300}) )? \}
  | \$ (?P<bare> [A-Za-z_]\w* )
  | (?P<other> \$\{[^}]{0,300}\} | \$[\d@*\#?!$-] )
  | \\ (?P<escaped> ["\\$`\n] )
  | (?P<plain> [^\\$`]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<adds>\+?)=")
_OPENING = frozenset(("if", "while", "until", "for", "select", "case", "{"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))
_BETWEEN = frozenset(("then", "do", "else", "elif", "!", "time"))
_SETTING = frozenset(("export", "declare", "local", "readonly", "typeset", "set"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))


class Command(NamedTuple):
    """A simple command: its words without the environment before it, where it starts, and the folder it runs in.

    `folder` is what `cd` said before, relative to where the text is run; empty when nothing did.
    """

    words: tuple[str, ...]
    line: int
    column: int
    folder: str


class _Variable(NamedTuple):
    name: str
    default: str | None
    quoted: bool


class _Word(NamedTuple):
    """The parts of a word: texts and variables. `items` are the words of the array that `name=(` begins."""

    parts: tuple[str | _Variable, ...]
    line: int
    column: int
    quoted: bool
    items: tuple[_Word, ...] | None = None

    @property
    def text(self) -> str:
        """The word as it is, if nothing in it is a variable; empty otherwise."""
        return "".join(part if isinstance(part, str) else UNKNOWN for part in self.parts)


def commands(text: str) -> Iterator[Command]:
    """The simple commands of a text, in its order, those of loops and branches too."""
    if len(text) <= _LARGEST:
        yield from _Shell({}).run(text, 0)


class _Shell:
    """What is known of the variables at one place of a text."""

    def __init__(self, variables: dict[str, list[str] | None]) -> None:
        self.variables = variables
        self.folder = ""
        self._blocks: list[set[str]] = []

    def run(self, text: str, depth: int) -> Iterator[Command]:
        """The commands of a text, with the variables as they are there."""
        for words in _statements(text):
            yield from self._statement(words, depth)

    def _statement(self, words: list[_Word], depth: int) -> Iterator[Command]:
        while words and not words[0].quoted and self._keyword(words[0].text):
            if words[0].text in ("for", "select", "case"):
                self._loop(words)
                return
            words = words[1:]
        start = next((at for at, word in enumerate(words) if not _ASSIGNED.match(_first(word))), len(words))
        if start == len(words):  # before a command they are set for it alone
            self._assign(words)
        else:
            yield from self._run(words[start:], depth)

    def _run(self, words: list[_Word], depth: int) -> Iterator[Command]:
        """The commands that one statement runs; what it sets and where it leads is noted."""
        given = list(islice((text for word in words for text in self._expanded(word)), _WORDS))
        if given and given[0] in ("$", "%", "exec", "eval", "command"):
            given = " ".join(given[1:]).split() if given[0] == "eval" else given[1:]
        name = given[0].rpartition("/")[2] if given else ""
        if name in _SETTING:
            self._assign(words[1:])
        elif name in ("cd", "pushd") and len(given) == 2:
            self.folder = f"{self.folder}/{given[1]}" if self.folder else given[1]
        elif inner := _inner(given):
            if depth < _DEEPEST:
                nested = _Shell(dict(self.variables))
                nested.folder = self.folder
                for one in nested.run(inner, depth + 1):
                    yield one._replace(line=words[0].line, column=words[0].column)
        elif given:
            yield Command(tuple(given), words[0].line, words[0].column, self.folder)

    def _keyword(self, word: str) -> bool:
        """Take a word of the language: what a branch has set is not known after it."""
        if word in _OPENING:
            self._blocks.append(set())
        elif self._blocks and (word in _CLOSING or word in ("else", "elif", ";;")):
            changed = self._blocks[-1]
            self.variables.update(dict.fromkeys(changed))
            if word in _CLOSING:
                self._blocks.pop()
                if self._blocks:
                    self._blocks[-1] |= changed
        return word in _OPENING or word in _CLOSING or word in _BETWEEN or word == ";;"

    def _loop(self, words: list[_Word]) -> None:
        """`for NAME in WORDS`: the variable is each of the words."""
        if words[0].text == "for" and len(words) > 2 and words[2].text == "in":
            self._set(words[1].text, [text for word in words[3:] for text in self._expanded(word)])
        elif words[0].text != "case" and len(words) > 1:
            self._set(words[1].text, None)

    def _assign(self, words: list[_Word]) -> None:
        """Set the variables that some words set: `A=b`, `A+=(c d)`."""
        for word in words:
            found = _ASSIGNED.match(_first(word))
            if found is None:
                continue
            value = word._replace(parts=(_first(word)[found.end() :], *word.parts[1:]))
            items = [value] if word.items is None else word.items
            added = [text for one in items for text in self._expanded(one)]
            before = self.variables.get(found["name"]) if found["adds"] else []
            self._set(found["name"], None if before is None else before + added)

    def _set(self, name: str, value: list[str] | None) -> None:
        self.variables[name] = value[:_MOST] if value is not None else None
        if self._blocks:
            self._blocks[-1].add(name)

    def _expanded(self, word: _Word) -> list[str]:
        """The words that one becomes; several where a variable is a list."""
        if len(word.parts) == 1 and isinstance(word.parts[0], str):
            return [word.parts[0]]
        choices: list[list[str]] = []
        size = 1
        for part in word.parts:
            values = [part] if isinstance(part, str) else self._value(part)
            size *= max(len(values), 1)
            choices.append(values if size <= _MOST else [UNKNOWN])
        if len(word.parts) == 1 and isinstance(word.parts[0], _Variable):
            return choices[0]
        if sum(max(map(len, values), default=0) for values in choices) > _LONGEST:
            return [UNKNOWN]
        return ["".join(parts) for parts in product(*(values or [""] for values in choices))]

    def _value(self, variable: _Variable) -> list[str]:
        default = variable.default
        found = self.variables.get(variable.name)
        if found is None and default is not None and variable.name not in self.variables:
            found = [UNKNOWN] if "$" in default or "`" in default else [default.strip("\"'")]
        if found is None:
            return [UNKNOWN]
        return found if variable.quoted else [part for text in found for part in text.split()]


def _first(word: _Word) -> str:
    """The text with which a word begins."""
    return word.parts[0] if word.parts and isinstance(word.parts[0], str) else ""


def _inner(words: list[str]) -> str:
    """The text that `bash -c "..."` runs; empty for another command."""
    for at, word in enumerate(words[:-2]):
        if word.rpartition("/")[2] in _SHELLS and re.fullmatch("-[a-z]*c", words[at + 1]):
            return words[at + 2]
    return ""


def _statements(text: str) -> Iterator[list[_Word]]:
    """The statements of a text, each as words: up to the end of a line, `;`, `&` or `|`."""
    tokens = _Tokens(text)
    while not tokens.done:
        yield tokens.statement()


class _Tokens:
    """A text that is read from its start to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self._line_start = 0
        self._here: list[str] = []

    @property
    def done(self) -> bool:
        """Whether the text is at its end."""
        return self.at >= len(self.text)

    def statement(self) -> list[_Word]:
        """The words up to the next end of a statement."""
        words: list[_Word] = []
        while not self.done:
            character = self.text[self.at]
            if character == "#":
                self._skip_comment()
                continue
            found = _TOKEN.match(self.text, self.at)
            assert found is not None
            kind = found.lastgroup
            if kind in ("newline", "operator"):
                if found[0] == ";;":  # between two branches: a word of the language
                    if words:
                        return words
                    words.append(_Word((";;",), self.line, 1, quoted=False))
                self._take(found)
                if kind == "newline" and self._here:
                    self._skip_here()
                return words
            if kind == "blank":
                self.at = found.end()
            elif kind == "joint":
                self._take(found)
            elif kind == "redirect":
                self._take(found)
                self._redirect(found[0])
            elif kind == "plain" and self._ends(found.end()):  # most words are one piece
                words.append(_Word((found[0],), self.line, self.at - self._line_start + 1, quoted=False))
                self.at = found.end()
            else:
                words.append(self._word())
        return words

    def _ends(self, at: int) -> bool:
        """Whether a word ends before a place."""
        return at >= len(self.text) or self.text[at] in " \t\n"

    def _take(self, found: re.Match[str]) -> None:
        breaks = found[0].count("\n")
        if breaks:
            self.line += breaks
            self._line_start = found.start() + found[0].rindex("\n") + 1
        self.at = found.end()

    def _redirect(self, sign: str) -> None:
        """Leave out where a command reads from or writes to; note the end of a here-document."""
        while not self.done and self.text[self.at] in " \t":
            self.at += 1
        if self.done or self.text[self.at] in "\n;|&":
            return
        target = self._word()
        if sign.endswith(("<<", "<<-")) and not sign.endswith("<<<"):
            self._here.append(target.text)

    def _skip_here(self) -> None:
        """Leave out the here-documents that begin in this line."""
        for end in self._here:
            while not self.done:
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop].strip()
                self.at, self.line, self._line_start = stop + 1, self.line + 1, stop + 1
                if line == end:
                    break
        self._here = []

    def _word(self, *, array: bool = True) -> _Word:
        """The word that begins here; where it may be an array, with what is between its parentheses."""
        line, column, first = self.line, self.at - self._line_start + 1, self.at
        parts: list[str | _Variable] = []
        quoted = False
        while not self.done:
            found = _TOKEN.match(self.text, self.at)
            assert found is not None
            kind = found.lastgroup
            if array and found[0] == "(" and self.text[first : self.at].endswith("="):
                self._take(found)
                return _Word(_joined(parts), line, column, quoted, tuple(self._array()))
            if kind in ("newline", "blank", "operator", "redirect"):
                break
            self._take(found)
            quoted = quoted or kind in ("single", "double", "escaped")
            parts += _parts(found)
        return _Word(_joined(parts), line, column, quoted)

    def _array(self) -> Iterator[_Word]:
        """The words up to the parenthesis that ends an array."""
        while not self.done:
            if self.text[self.at] == "#":
                self._skip_comment()
                continue
            found = _TOKEN.match(self.text, self.at)
            assert found is not None
            if found.lastgroup in ("newline", "blank", "joint", "operator", "redirect"):
                self._take(found)
                if found[0] == ")":
                    return
            else:
                yield self._word(array=False)

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def _joined(parts: list[str | _Variable]) -> tuple[str | _Variable, ...]:
    """The parts with neighbouring texts made one."""
    found: list[str | _Variable] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)


def _parts(found: re.Match[str], *, quoted: bool = False) -> list[str | _Variable]:
    """The texts and variables of one token."""
    kind = found.lastgroup
    if kind in ("braced", "default", "bare"):
        return [_Variable(found["braced"] or found["bare"], found["default"], quoted)]
    if kind in ("run", "other"):
        return [UNKNOWN]
    if kind == "single":
        return [found[0].lstrip("$")[1:-1]]
    if kind == "escaped":
        return [found["escaped"] if found["escaped"] != "\n" else ""]
    if kind == "double":
        inside = _INSIDE.finditer(found[0][1:-1])
        return [part for one in inside for part in _parts(one, quoted=True)] or [""]
    return [found[0]] if kind != "joint" else []


__all__ = ["UNKNOWN", "Command", "commands"]
