"""Patterns in the rest of a project that named a key of a model, and match nothing since a change renamed it."""

from __future__ import annotations

import re
from typing import NamedTuple

from shardlint.changes.edit import parsed
from shardlint.changes.generated import generated_header
from shardlint.changes.key_renames import both_classes
from shardlint.changes.model_files import model_files, model_folder
from shardlint.facts.path_roles import in_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardlint.changes.states import ChangeSet, FileChange
    from shardlint.facts.key_lists import KeyList, KeyString

_MOST_FILES = 6000
"""Python files, and documents, of a larger project are searched no further."""

_DOCUMENTS = (".yaml", ".yml", ".json", ".toml")

_EXTERNAL = frozenset(
    (
        "q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "in_proj",
        "gate_up_proj", "lm_head", "embed_tokens", "wte", "wpe", "c_attn", "c_proj", "c_fc", "query_key_value", "dense",
        "dense_h_to_4h", "dense_4h_to_h", "fc1", "fc2", "proj", "qkv", "query", "key", "value", "norm", "layers",
        "model", "self_attn", "mlp", "attn", "experts", "gate", "router", "to_q", "to_k", "to_v", "to_out", "score",
        "classifier", "visual", "linear_qkv", "linear_proj", "linear_fc1", "linear_fc2", "w1", "w2", "w3", "wqkv",
        "Wqkv", "x_proj", "dt_proj", "embeddings", "attention", "layer", "output", "blocks", "head", "encoder",
        "decoder", "vision_tower", "multi_modal_projector",
    )
)  # fmt: skip
"""Names that models of public libraries have as well: a list far from the renamed model may mean one of those."""

_OUTERMOST = ("model", "module", "base_model", "weight", "bias")
"""Parts of a key that a wrapper or a layer of torch brings in: no code of the project makes them."""

_NOT_ONE_KEY = re.compile(r"[|()\[\]{}?+,\s]")
"""A pattern with one of these may match other names still."""


class Renaming(NamedTuple):
    """A name that a change replaced: `old` by `new`, of `owner` (a class; "" where a class itself got another name).

    `key` and `new_key` are the whole keys, relative to the owner. `line` lies in the later state of `path`; `sure` is
    False where names alone say that this is a module.
    """

    path: str
    line: int
    old: str
    new: str
    owner: str
    key: str
    new_key: str
    sure: bool


class StalePattern(NamedTuple):
    """A string that named a renamed key or class: where it lies, what holds it, what it would be now, and the cause."""

    path: str
    string: KeyString
    listed: KeyList
    renewed: str
    cause: Renaming


def stale_patterns(file: FileChange, changes: ChangeSet) -> Iterator[StalePattern]:
    """The patterns of the later state that named a key or class which `file` renames, and that match none any more.

    A name that some class of the project still has is not followed, nor is one whose list names the new one as well.
    """
    causes = renamings(file, changes)
    if not causes:
        return
    search = _Search(file, changes)
    for cause in causes:
        yield from search.left_by(cause)


def renamings(file: FileChange, changes: ChangeSet) -> list[Renaming]:
    """The names of keys and of module classes that a changed file replaces, each old one once.

    Of a key that moved into another module no single name was replaced; such a key is left out.
    """
    states = both_classes(file, changes)
    if states is None:
        return []
    from shardlint.facts.key_changes import compare, renamed_classes
    from shardlint.facts.state_keys import StateKeys

    found: dict[str, Renaming] = {}
    for one in compare(*states):
        before, after = one.old.split("."), one.new.split(".")
        differing = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
        if one.kind != "renamed" or len(before) != len(after) or len(differing) != 1:
            continue
        old, new = differing[0]
        if old.isidentifier() and new.isidentifier():
            owner = one.before.owner or one.class_name
            found.setdefault(old, Renaming(file.path, one.line, old, new, owner, one.old, one.new, one.sure))
    keys = StateKeys(states[0])
    for old, new in renamed_classes(*states).items():
        if keys.of_class(old) and old.isidentifier() and new.isidentifier():
            sure = states[0][old].known and states[1][new].known
            found.setdefault(old, Renaming(file.path, states[1][new].line, old, new, "", old, new, sure))
    return list(found.values())


class _Search:
    """The later state of a project, searched for lists that name the keys of one file."""

    def __init__(self, file: FileChange, changes: ChangeSet) -> None:
        self._file = file
        self._changes = changes
        paths = [path for path in changes.paths_after() if not in_tests(path)]
        python = [path for path in paths if path.endswith(".py")][:_MOST_FILES]
        self._documents = [path for path in paths if path.endswith(_DOCUMENTS)][:_MOST_FILES]
        changes.after.load((*python, *self._documents))
        self._python = python
        self._folder = model_folder(file.path)
        self._own: tuple[list[str] | None] | None = None
        self._known: dict[tuple[str, bool], bool] = {}
        self._earlier = [one.before for one in changes.changes if one.before and one.path.endswith(".py")]

    def left_by(self, cause: Renaming) -> Iterator[StalePattern]:
        """The strings that still say the old name."""
        if self._renamed_before(cause):
            return
        for path in (*self._python, *self._documents):
            content = self._changes.read_after(path)
            if content is None or cause.old.encode() not in content or self._alive(path, cause):
                continue
            if generated_header(content) is not None:
                continue
            for listed in _lists(path, content):
                if any(cause.new in _parts(string.text) for string in listed.strings):
                    continue
                for string in listed.strings:
                    stale = self._stale_class if listed.use == "class" else self._stale_key
                    if cause.old in _parts(string.text) and stale(path, content, listed, string, cause):
                        yield StalePattern(path, string, listed, _renewed(string.text, cause), cause)

    def _alive(self, path: str, cause: Renaming) -> bool:
        """Whether a list in `path` surely means a name that is still there: then the file need not be parsed."""
        if not cause.owner:
            return False
        place = cause.old, self._beside(path)
        if place not in self._known:
            self._known[place] = self._defined(cause.old, self._scope(path), whole=True)
        return self._known[place]

    def _renamed_before(self, cause: Renaming) -> bool:
        """Whether a file that comes first in the change replaced the same name: it is the one that reports.

        A generated file follows its source, so it comes last.
        """
        for one in self._changes.changes:
            earlier = _order(one) < _order(self._file) and not in_tests(one.path)
            if (
                earlier
                and cause.old.encode() in (one.before or b"")
                and any(other.old == cause.old for other in renamings(one, self._changes))
            ):
                return True
        return False

    def _stale_class(self, path: str, content: bytes, listed: KeyList, string: KeyString, cause: Renaming) -> bool:
        """Whether a list of classes names one that no code mentions any more."""
        del listed
        if cause.owner or string.text != cause.old or not self._tied(path, content, cause):
            return False
        named = re.compile(rf"^[^\"'#\n]*\b{cause.old}\b".encode(), re.MULTILINE)
        return not any(named.search(self._changes.read_after(one) or b"") for one in self._python)

    def _stale_key(self, path: str, content: bytes, listed: KeyList, string: KeyString, cause: Renaming) -> bool:
        """Whether a pattern's other names were all made by the project, and the old one is by no class of it now."""
        if not cause.owner or (listed.use == "part" and cause.old in cause.new):
            return False
        if cause.old in _EXTERNAL and not self._tied(path, content, cause):
            return False
        if self._defined(cause.old, self._scope(path), whole=listed.use != "part"):
            return False
        others = [part for part in _parts(string.text) if not part.isdigit() and part not in (cause.old, *_OUTERMOST)]
        return all(self._was_defined(part) for part in others)

    def _beside(self, path: str) -> bool:
        """Whether a file lies with the renamed model."""
        return path == self._file.path or (self._folder != "" and path.startswith(self._folder))

    def _tied(self, path: str, content: bytes, cause: Renaming) -> bool:
        """Whether a file has to do with the renamed model: it lies with it, imports it or names its class."""
        if self._beside(path):
            return True
        name = self._file.path.rpartition("/")[2].removesuffix(".py")
        owner = (cause.owner or cause.new).rpartition(".")[2]
        said = rf"\b{re.escape(owner)}\b|^\s*(?:from|import)\s+\S*\b{re.escape(name)}\b"
        return re.search(said.encode(), content, re.MULTILINE) is not None

    def _scope(self, path: str) -> list[str]:
        """The files whose classes a list may mean: one beside the renamed model does not mean the models next door."""
        if not self._beside(path):
            return self._python
        if self._own is None:
            self._own = (model_files(self._file.path, self._python, self._changes.read_after),)
        return self._python if self._own[0] is None else self._own[0]

    def _defined(self, name: str, paths: Sequence[str], *, whole: bool) -> bool:
        """Whether a file of the later state gives an attribute that name (or, if not `whole`, one that holds it)."""
        made, quoted = _definition(name, whole=whole), re.compile(rb"[\"']" + name.encode() + rb"[\"']")
        for path in paths:
            content = self._changes.read_after(path)
            if content is None:
                continue
            if name.encode() in content and (made.search(content) or _named_by_value(content, quoted)):
                return True
            if any(_fits(hole, name) for hole in _BY_PATTERN.findall(content)):
                return True
        return False

    def _was_defined(self, name: str) -> bool:
        made = _definition(name, whole=True)
        return any(made.search(content) for content in self._earlier) or self._defined(name, self._python, whole=True)


def _order(file: FileChange) -> tuple[bool, str]:
    return generated_header(file.after or b"") is not None, file.path


_BY_PATTERN = re.compile(rb"(?:setattr|add_module|register_\w+)\s*\(\s*(?:\w+\s*,\s*)?f[\"']([^\"'\n]*)[\"']")
_BY_NAME = re.compile(
    rb"(?:setattr|add_module|register_\w+)\s*\(\s*(?:self\s*,\s*)?[a-z_]\w*\s*,|ModuleDict|ParameterDict"
)


def _definition(name: str, *, whole: bool) -> re.Pattern[bytes]:
    """Text that gives an attribute its name: ``self.name``, ``x.name = Class(...)`` or a call that registers."""
    escaped = re.escape(name)
    word = escaped if whole else rf"\w*{escaped}\w*"
    forms = (
        rf"\bself\.{word}\b",
        rf"\.{word}\s*=\s*[\w.]*\b[A-Z]\w*\(",
        rf"(?:register_\w+|add_module|setattr)\s*\([^)\n]*[\"']{word}[\"']",
    )
    return re.compile("|".join(forms).encode(), re.MULTILINE)


def _named_by_value(content: bytes, quoted: re.Pattern[bytes]) -> bool:
    """Whether a file registers modules under names that it holds in variables or dicts, and quotes the name."""
    return _BY_NAME.search(content) is not None and quoted.search(content) is not None


def _fits(hole: bytes, name: str) -> bool:
    """Whether an f-string can make a name."""
    pieces = re.split(r"\{[^{}]*\}", hole.decode("utf-8", "replace"))
    return len(pieces) > 1 and any(pieces) and re.fullmatch(r"\w+".join(map(re.escape, pieces)), name) is not None


def _parts(text: str) -> list[str]:
    r"""The names of a pattern, none if it may stand for several: ``layers\.\d+\.wq$`` gives `layers` and `wq`."""
    plain = re.sub(r"\\[bdswBDSW]\+?", "*", text).replace("\\.", ".").replace(".+", ".*").strip("^$")
    if _NOT_ONE_KEY.search(plain):
        return []
    return [part for part in re.split(r"[.*]+", plain) if part]


def _renewed(text: str, cause: Renaming) -> str:
    return re.sub(rf"(?<![A-Za-z0-9_]){cause.old}(?![A-Za-z0-9_])", cause.new, text)


def _lists(path: str, content: bytes) -> Iterator[KeyList]:
    from shardlint.facts.key_lists import HOLDER_WORDS, document_lists, python_lists

    if not any(word in content for word in HOLDER_WORDS):
        return
    if path.endswith(".py"):
        tree = parsed(content)
        if tree is not None:
            yield from python_lists(tree)
        return
    from shardlint.configs.document import BrokenDocument, read_document

    try:
        document = read_document(path, content)
    except BrokenDocument:
        return
    yield from document_lists(document)
