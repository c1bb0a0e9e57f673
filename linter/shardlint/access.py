"""Whether a file can reach a member of a package, from its text: by an import of it, or through a name of the package.

The second step of the prefilter. Words alone let a file pass that says `torch`, `distributed` and `gather` for three
different things; here `gather` must be taken from `torch.distributed` somewhere, under whatever name. The ways in which
`facts.names` resolves a name are covered, in code that has at most one blank beside its operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shardlint.source import plain_lines

_WORD = re.compile(rb"\w+")
_AS = re.compile(rb"(?<![\w.])([\w.]+)[ \t]+as[ \t]+(\w+)")
PATCH = re.compile(rb"^[ \t]*([^\W\d]\w*)(?:\.\w+)+[ \t]*=(?!=)", re.MULTILINE)
"""A line that gives an attribute of a name a value."""
_SETATTR = re.compile(rb"\bsetattr\s*\(\s*([^\W\d]\w*)")
_HANDED_ON = (b"= ", b"=", b"else ", b"or ", b"and ", b"getattr(", b"(", b", ", b"return ")
_MOST_READ = 20
"""How often the bytes of a file may be read as part of imports: in one long line, each is read for the next ones."""
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(128, 256))


class Imports:
    """The imports of one file: `taken` (module, clause) of each `from`, `plain` the rest of each `import`.

    `unclear` says that there is too much of them to be read; then anything may be imported.
    """

    __slots__ = ("_handed", "_relative", "data", "plain", "taken", "unclear")

    def __init__(self, data: bytes) -> None:
        self.data = data = plain_lines(data)
        self.taken: list[tuple[bytes, bytes]] = []
        self.plain: list[bytes] = []
        self.unclear = False
        self._relative: list[tuple[list[str], str, frozenset[str]]] | None = None
        self._handed: dict[bytes, bool] = {}
        left = _MOST_READ * len(data)
        at = data.find(b"import")
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            head = data[start:at].strip()
            end = self._end(at)
            left -= end - start
            if left < 0:
                self.unclear = True
                return
            if head.startswith(b"from ") or b" from " in head or b";from " in head:
                module = head.rpartition(b"from ")[2].replace(b" ", b"").replace(b"\t", b"")
                self.taken.append((module, data[at + 6 : end]))
            elif not head or head.endswith((b";", b":")):
                self.plain.append(data[at + 6 : end])
            at = data.find(b"import", at + 6)

    def _end(self, at: int) -> int:
        """The end of the statement: of the line, of what its parenthesis holds, or of its continued lines."""
        data = self.data
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if b"(" in data[at:end]:
            closed = data.find(b")", at)
            while closed >= 0 and b"#" in data[data.rfind(b"\n", 0, closed) + 1 : closed]:
                end = data.find(b"\n", closed)  # whatever else the line closes is in the comment too
                closed = -1 if end < 0 else data.find(b")", end)
            return len(data) if closed < 0 else closed
        while end < len(data) and data[at:end].rstrip().endswith(b"\\"):
            following = data.find(b"\n", end + 1)
            at, end = end, len(data) if following < 0 else following
        return end

    def reach(self, package: str, members: tuple[str, ...]) -> bool:
        """Whether one of `members` can be taken from `package`."""
        dotted, (parent, _, last) = package.encode(), package.encode().rpartition(b".")
        wanted = [member.encode() for member in members]
        names = {last}
        if self.unclear:
            return True
        for module, clause in self.taken:
            if module == dotted and (b"*" in clause or any(member in clause for member in wanted)):
                return True
            if module == parent or module.startswith(b"."):
                names.update(new for old, new in _AS.findall(clause) if old == last)
        for clause in self.plain:
            names.update(new for old, new in _AS.findall(clause) if old == dotted)
        return any(self._through(name, wanted) for name in names) or b"import_module" in self.data

    def has(self, path: str) -> bool:
        """Whether a module, or something of it, is imported by its absolute name."""
        if self.unclear:
            return True
        wanted = path.encode()
        package, _, last = wanted.rpartition(b".")
        inside = wanted + b"."
        for module, clause in self.taken:
            if module == wanted or module.startswith(inside) or (module == package and last in clause):
                return True
        return any(wanted in clause for clause in self.plain)

    def near(self, path: str, package: str, members: tuple[str, ...]) -> bool:
        """Whether a relative import of the file at `path` takes one of `members`, or what leads there, from `package`.

        Without members anything of the package counts.
        """
        if self.unclear:
            return True
        parts = package.split(".")
        for base, dotted, words in self._relatively(path):
            if not members and f".{package}." in dotted:
                return True
            for known in range(len(parts) + 1):
                if base[len(base) - known :] != parts[:known] or (known == 0 and base):
                    continue
                wanted = parts[known : known + 1] or members
                if "*" in words or not wanted or not words.isdisjoint(wanted):
                    return True
        return False

    def _relatively(self, path: str) -> list[tuple[list[str], str, frozenset[str]]]:
        """Where each relative import of the file at `path` takes something from: the parts of that package, the same
        as `.a.b.`, and the words of the clause.
        """
        if self._relative is None:
            self._relative = []
            folder = path.split("/")[:-1]
            for module, clause in self.taken:
                inner = module.lstrip(b".")
                level = len(module) - len(inner)
                if not level:
                    continue
                below = inner.decode("utf-8", "replace").split(".") if inner else []
                base = [*folder[: max(len(folder) - level + 1, 0)], *below]
                words = {word.decode("utf-8", "replace") for word in _WORD.findall(clause)}
                if b"*" in clause:
                    words.add("*")
                self._relative.append((base, f".{'.'.join(base)}.", frozenset(words)))
        return self._relative

    def patch(self, packages: Iterable[str]) -> bool:
        """Whether an attribute of something imported from one of the packages is given a value."""
        if self.unclear:
            return True
        wanted = {package.encode() for package in packages}
        names: set[bytes] = set()
        for module, clause in self.taken:
            if module.partition(b".")[0] in wanted:
                names.update(_WORD.findall(clause))
        for clause in self.plain:
            words = _WORD.findall(clause)
            if wanted.intersection(words):
                names.update(words)
        if b"setattr" in self.data and any(found[1] in names for found in _SETATTR.finditer(self.data)):
            return True
        return any(self._given_attribute(name) for name in names)

    def _given_attribute(self, name: bytes) -> bool:
        """Whether a line gives an attribute of a name a value. A search for the name costs less than one for lines."""
        data, word = self.data, name + b"."
        at = data.find(word)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            if not data[start:at].strip(b" \t") and PATCH.match(data, start):
                return True
            at = data.find(word, at + 1)
        return False

    def _through(self, name: bytes, members: list[bytes]) -> bool:
        """Whether a member is taken from `name`, or `name` itself is handed on to another name."""
        data = self.data
        for member in members:
            at = data.find(b"." + member)
            while at >= 0:
                before = data[max(at - 120, 0) : at].rstrip(b" \t\r\n\\")
                if before.endswith(name) and (len(before) == len(name) or before[-len(name) - 1] not in _NAME_BYTES):
                    return True
                at = data.find(b"." + member, at + 1)
        # Rules ask for different members of the same package: what goes for all of them is looked for once.
        if name not in self._handed:
            self._handed[name] = self._alone(name) or self._handed_on(name)
        return self._handed[name]

    def _handed_on(self, name: bytes) -> bool:
        """Whether a name is given to another: `d = dist`."""
        data = self.data
        for lead in _HANDED_ON:
            at = data.find(lead + name)
            while at >= 0:
                end = at + len(lead) + len(name)
                following = data[end : end + 1]
                if following != b"." and (not following or following[0] not in _NAME_BYTES) and self._given(lead, end):
                    return True
                at = data.find(lead + name, end)
        return False

    def _alone(self, name: bytes) -> bool:
        """Whether a module is handed on by its dotted name: `d = torch.distributed`."""
        data = self.data
        at = data.find(b"." + name)
        while at >= 0:
            end = at + 1 + len(name)
            following = data[end : end + 1]
            if following != b"." and (not following or following[0] not in _NAME_BYTES):
                start = at
                while start and (data[start - 1] in _NAME_BYTES or data[start - 1] == 46):
                    start -= 1
                before = data[max(start - 8, 0) : start]
                given = any(before.endswith(lead) and self._given(lead, end) for lead in _HANDED_ON)
                if given and data[start:at].partition(b".")[0] in self._imported():
                    return True
            at = data.find(b"." + name, end)
        return False

    def _imported(self) -> set[bytes]:
        """Every word of an import."""
        clauses = [*self.plain, *(clause for _, clause in self.taken)]
        return {word for clause in clauses for word in _WORD.findall(clause)}

    def _given(self, lead: bytes, end: int) -> bool:
        """In parentheses only in a conditional or a chain of `or`; after a comma as an item of an open tuple."""
        if lead == b", ":
            return self.data[end : end + 1] in (b"", b"\n", b"\r", b",")
        return lead != b"(" or self.data[end : end + 4].lstrip().startswith((b"if", b"or", b"an"))
