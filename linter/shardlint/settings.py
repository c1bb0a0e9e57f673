"""`[tool.shardlint]` or `shardlint.toml` -> settings.

Read only when the session table does not hold them already. The checks stand in `settings.schema.json`, whose
descriptions are also the documentation.
"""

from __future__ import annotations

import os

from shardlint.errors import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeGuard

    Regexes = tuple[tuple[bool, str], ...]
    """Compiled patterns, as `discover.matcher` takes them."""

OWN_FILE = "shardlint.toml"
SHARED_FILE = "pyproject.toml"
_SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings.schema.json")


class Located:
    """Where the settings of a run are.

    `root`: the root folder of the project. `file`: the settings file (absolute), or None. `consulted`: every path that
    was looked at, present or absent; the answer holds as long as none of them changes.
    """

    __slots__ = ("consulted", "file", "root")

    def __init__(self, root: str, file: str | None, consulted: tuple[str, ...]) -> None:
        self.root = root
        self.file = file
        self.consulted = consulted


class Settings:
    """The settings of a run. Every value can be marshalled; patterns come with the expressions they compile to.

    select: names of rules and families, or ALL; None for the rules that are on by default.
    ignore, extend_select: more names.
    exclude, include: patterns as written; exclude_regexes, include_regexes: compiled. `extend-exclude` is in `exclude`.
    severity: rule name -> error, warning, note or off.
    fail_on: the mildest severity that fails a run. min_confidence: 0 to 1.
    baseline: path relative to the root, or None. environment: path as written, or None.
    knowledge: further constraint files, as written.
    generated: (patterns, regexes, patterns of the sources, command or "").
    per_file_ignores: (pattern, regexes, names).
    suppress: (rule, pattern, regexes, JSON pointer or "", reason).
    collectives: dotted name -> entry of a table of effects: `group`, the position or name of its group argument.
    modality: kind (collators, datasets, models, processors, templates) -> name -> modalities, words in one string.
    plan: targets of `shardlint plan`, as tables of the file.
    world: how many processes the jobs of the project run with.
    """

    __slots__ = (
        "baseline",
        "collectives",
        "environment",
        "exclude",
        "exclude_regexes",
        "extend_select",
        "fail_on",
        "generated",
        "ignore",
        "include",
        "include_regexes",
        "knowledge",
        "min_confidence",
        "modality",
        "per_file_ignores",
        "plan",
        "select",
        "severity",
        "suppress",
        "world",
    )

    def __init__(self) -> None:
        self.select: tuple[str, ...] | None = None
        self.ignore: tuple[str, ...] = ()
        self.extend_select: tuple[str, ...] = ()
        self.exclude: tuple[str, ...] = ()
        self.exclude_regexes: Regexes = ()
        self.include: tuple[str, ...] = ()
        self.include_regexes: Regexes = ()
        self.severity: dict[str, str] = {}
        self.fail_on = "warning"
        self.min_confidence = 0.5
        self.baseline: str | None = None
        self.environment: str | None = None
        self.knowledge: tuple[str, ...] = ()
        self.generated: tuple[tuple[tuple[str, ...], Regexes, tuple[str, ...], str], ...] = ()
        self.per_file_ignores: tuple[tuple[str, Regexes, tuple[str, ...]], ...] = ()
        self.suppress: tuple[tuple[str, str, Regexes, str, str], ...] = ()
        self.collectives: dict[str, dict[str, int | str]] = {}
        self.modality: dict[str, dict[str, str]] = {}
        self.plan: tuple[dict[str, Any], ...] = ()
        self.world: tuple[int, ...] = ()

    def as_plain(self) -> dict[str, Any]:
        """The settings as values that `marshal` takes."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Settings:
        """The settings that `as_plain` gave."""
        settings = cls()
        for name in cls.__slots__:
            setattr(settings, name, plain[name])
        return settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.as_plain() == other.as_plain()

    __hash__ = None  # type: ignore[assignment]  # settings hold dicts


def find_settings(start: str) -> Located:
    """The project that the folder `start` belongs to.

    The nearest folder upwards that holds `shardlint.toml`, or a `pyproject.toml` with a table `[tool.shardlint]`, is
    the root. Without one, it is the nearest folder with `.git` or `pyproject.toml`, or else `start`.

    Raises:
        SettingsError: a folder holds both, or a pyproject.toml that speaks of shardlint is not TOML.
    """
    folder = start = os.path.abspath(start)
    consulted: list[str] = []
    marked: str | None = None
    while True:
        own, shared, git = (os.path.join(folder, name) for name in (OWN_FILE, SHARED_FILE, ".git"))
        consulted += (own, shared, git)
        has_own = os.path.isfile(own)
        has_table = os.path.isfile(shared) and _table_in_shared(shared) is not None
        if has_own and has_table:
            raise SettingsError(
                f"{own} and the table [tool.shardlint] of {shared} both hold settings: keep one of them"
            )
        if has_own or has_table:
            return Located(folder, own if has_own else shared, tuple(consulted))
        if marked is None and (os.path.exists(git) or os.path.exists(shared)):
            marked = folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return Located(marked or start, None, tuple(consulted))
        folder = parent


def load_settings(located: Located) -> Settings:
    """The settings of a project; the defaults if it has none.

    Raises:
        SettingsError: the file is not TOML, or a key or a value in it is not allowed.
    """
    if located.file is None:
        return Settings()
    path = located.file
    if os.path.basename(path) == OWN_FILE:
        prefix, text = "", _read(path)
        table = parse_toml(path, text)
    else:
        prefix, text = "tool.shardlint", _read(path)
        table = _table(path, parse_toml(path, text)) or {}
    if table:
        _Check(path, text, prefix).check(table)
    return _settings(table, path)


def schema() -> dict[str, Any]:
    """The JSON Schema of the settings."""
    import json

    with open(_SCHEMA, encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def _table_in_shared(path: str) -> dict[str, Any] | None:
    text = _read(path, lenient=True)
    # A pyproject.toml that does not speak of shardlint is none of our business, even if it is broken.
    return _table(path, parse_toml(path, text)) if "shardlint" in text else None


def _table(path: str, document: dict[str, Any]) -> dict[str, Any] | None:
    tool = document.get("tool")
    table: object = tool.get("shardlint") if _is_table(tool) else None
    if table is None:
        return None
    if not _is_table(table):
        raise SettingsError(f"{path}: tool.shardlint must be a table: write [tool.shardlint] and its keys below")
    return table


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _read(path: str, lenient: bool = False) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read()
        return data.decode("utf-8", "replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}:{line}: the file is not UTF-8, as TOML must be: save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None


def parse_toml(path: str, text: str) -> dict[str, Any]:
    """The document in a TOML text; `path` is for the message. Raises SettingsError with line and column."""
    import sys
    from importlib import import_module

    reader = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = reader.loads(text)
        return document
    except ValueError as error:
        import re

        message = str(error)
        at = re.search(r" \(at line (\d+), column (\d+)\)$", message)
        if at is None:  # "at end of document"
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
            message = message.removesuffix(" (at end of document)")
        else:
            line, column = int(at[1]), int(at[2])
            message = message[: at.start()]
        raise SettingsError(f"{path}:{line}:{column}: the file is not valid TOML: {message}") from None
    except RecursionError:
        raise SettingsError(f"{path}: the file is nested too deeply to be settings") from None


class _Check:
    """Checks one table against the schema, and says in a sentence what is wrong."""

    def __init__(self, path: str, text: str, prefix: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.prefix = prefix
        self.entry = 0

    def check(self, table: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator

        validator: Any = Draft202012Validator(schema())
        errors = list(validator.iter_errors(table))
        if not errors:
            return
        # The first in the file is what the user sees first; an unknown key may be the cause of the rest.
        error = min(errors, key=lambda one: (one.validator != "additionalProperties", [str(part) for part in one.path]))
        while error.context:
            # Of alternatives, the one meant is the one that has the right type.
            error = max(error.context, key=lambda one: (one.validator != "type", len(one.path)))
        keys = [str(part) for part in error.absolute_path if isinstance(part, str)]
        self.entry = next((part for part in error.absolute_path if isinstance(part, int)), 0)
        where = ".".join(keys)
        if error.validator == "additionalProperties":
            raise self._unknown_key(keys, error.instance, error.schema)
        if keys == ["collectives"] and error.validator == "pattern":
            name = str(error.instance)
            raise self._error(
                ["collectives", name],
                f"`{name}` in `collectives` is no dotted name: write it whole and in quotes, as"
                ' "mylib.comm.gather" = {group = 1}',
            )
        if error.validator == "required":
            missing = next(name for name in error.validator_value if name not in error.instance)
            raise self._error(keys, f"an entry of `{where}` has no `{missing}`: add it")
        raise self._error(keys, f"`{where}` {_expected(error)}; it is {_shown(error.instance)}")

    def _unknown_key(self, keys: list[str], table: dict[str, Any], part: Mapping[str, Any]) -> SettingsError:
        from difflib import get_close_matches

        known = sorted(part.get("properties", ()))
        key = next(name for name in table if name not in known)
        full = ".".join([*keys, key])
        if keys[:1] == ["collectives"] and isinstance(table[key], dict):
            return self._error(
                [*keys, key],
                f"`{full}`: a dotted name needs quotes here, or TOML takes it for nested tables: write"
                ' "mylib.comm.gather" = {group = 1}',
            )
        close = get_close_matches(key.replace("_", "-"), known, 1, 0.6)
        hint = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(known)}"
        return self._error([*keys, key], f"`{full}` is no setting of shardlint; {hint}")

    def _error(self, keys: list[str], sentence: str) -> SettingsError:
        line = self._line(keys)
        return SettingsError(f"{self.path}:{line}: {sentence}" if line else f"{self.path}: {sentence}")

    def _line(self, keys: list[str]) -> int | None:
        """The line of a key, from 1, found in the text because the TOML reader tells no positions."""
        import re

        dotted = r"\s*\.\s*".join(re.escape(part) for part in self.prefix.split(".") if part)
        ours = re.compile(rf"{dotted}\s*(?:\.|$)" if dotted else "")
        inside = not dotted
        found: int | None = None
        depth = 0
        entries_before = self.entry
        for number, line in enumerate(self.lines, 1):
            header = re.match(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]", line)
            if header is not None:
                inside = ours.match(header[2]) is not None
                repeated = header[1] == "[[" and header[2].split(".")[-1].strip() == keys[0]
                if inside and repeated and entries_before:
                    entries_before -= 1
                    inside = False
            while inside and depth < len(keys) and self._names(keys[depth], line):
                depth += 1
                found = number
        return found

    @staticmethod
    def _names(key: str, line: str) -> bool:
        import re

        return re.search(rf"""(?:^|[\s{{,.\[])["']?{re.escape(key)}["']?\s*[=\].]""", line) is not None


def _expected(error: Any) -> str:
    """What the schema wants, in words; `error` is a jsonschema ValidationError."""
    value = error.validator_value
    if error.validator == "enum":
        return "must be one of " + ", ".join(f'"{one}"' for one in value)
    if error.validator == "type":
        words = {
            "array": "a list",
            "object": "a table",
            "string": "a text",
            "number": "a number",
            "integer": "a number",
        }
        types: list[str] = [value] if isinstance(value, str) else value
        what = " or ".join(words[one] for one in types)
        inside = bool(error.absolute_path) and isinstance(error.absolute_path[-1], int)
        return f"must hold {what} at each place" if inside else f"must be {what}"
    if error.validator == "minimum":
        return f"must be at least {value}"
    if error.validator == "maximum":
        return f"must be at most {value}"
    if error.validator == "minLength":
        return "must not be empty"
    if error.validator == "pattern":
        return str(error.schema.get("$comment", "must begin with a slash"))
    return f"is not allowed ({error.message})"


def _shown(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _settings(table: dict[str, Any], path: str) -> Settings:
    settings = Settings()
    if "select" in table:
        settings.select = tuple(table["select"])
    settings.ignore = tuple(table.get("ignore", ()))
    settings.extend_select = tuple(table.get("extend-select", ()))
    settings.exclude = (*table.get("exclude", ()), *table.get("extend-exclude", ()))
    settings.exclude_regexes = _compiled(settings.exclude, path, "exclude")
    settings.include = tuple(table.get("include", ()))
    settings.include_regexes = _compiled(settings.include, path, "include")
    settings.severity = dict(table.get("severity", {}))
    settings.fail_on = table.get("fail-on", settings.fail_on)
    settings.min_confidence = float(table.get("min-confidence", settings.min_confidence))
    if settings.min_confidence != settings.min_confidence:  # TOML knows nan, and a schema cannot refuse it
        raise SettingsError(f"{path}: `min-confidence` must be a number from 0 to 1; it is nan")
    settings.baseline = _inside(table.get("baseline"), path, "baseline")
    settings.environment = table.get("environment")
    settings.knowledge = tuple(_inside(name, path, "knowledge") or "" for name in table.get("knowledge", ()))
    settings.generated = tuple(_generated(table.get("generated", ()), path))
    settings.per_file_ignores = tuple(
        (glob, _compiled((glob,), path, "per-file-ignores"), tuple(names))
        for glob, names in table.get("per-file-ignores", {}).items()
    )
    settings.suppress = tuple(
        (
            entry["rule"],
            entry["path"],
            _compiled((entry["path"],), path, "suppress"),
            entry.get("pointer", ""),
            entry["reason"],
        )
        for entry in table.get("suppress", ())
    )
    settings.collectives = {name: dict(entry) for name, entry in table.get("collectives", {}).items()}
    settings.modality = {kind: dict(entries) for kind, entries in table.get("modality", {}).items()}
    settings.world = tuple(table.get("world", {}).get("sizes", ()))
    settings.plan = tuple(_without_dates(entry, path) for entry in table.get("plan", ()))
    return settings


def _without_dates(entry: dict[str, Any], path: str) -> dict[str, Any]:
    """TOML knows dates and times, which neither a model's arguments nor the table that is kept can hold."""
    import json

    try:
        plain: dict[str, Any] = json.loads(json.dumps(entry))
    except TypeError:
        raise SettingsError(f"{path}: a target of `plan` holds a date or a time: write it as a text") from None
    return plain


def _generated(
    entries: list[str | dict[str, Any]], path: str
) -> Iterator[tuple[tuple[str, ...], Regexes, tuple[str, ...], str]]:
    for entry in entries:
        table: dict[str, Any] = {"paths": [entry]} if isinstance(entry, str) else entry
        paths = tuple(table["paths"])
        yield paths, _compiled(paths, path, "generated"), tuple(table.get("sources", ())), table.get("command", "")


def _compiled(patterns: tuple[str, ...], path: str, key: str) -> Regexes:
    if not patterns:
        return ()
    from shardlint.discover import compile_patterns

    try:
        return tuple(compile_patterns(patterns))
    except ValueError as error:
        raise SettingsError(f"{path}: `{key}`: {error}") from None


def _inside(named: str | None, path: str, key: str) -> str | None:
    """A file that a run reads or writes; settings from a foreign repository must not point it elsewhere."""
    if named is None:
        return None
    normal = os.path.normpath(named)
    if os.path.isabs(normal) or normal == ".." or normal.startswith("../"):
        raise SettingsError(f'{path}: `{key}` must lie inside of the project; it is "{named}"')
    return normal.replace(os.sep, "/")
