"""argv -> a command with its options. Written by hand because argparse alone costs more than a warm run may."""

from __future__ import annotations

from shardlint.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Value = bool | str | list[str]

FLAG, ONE, MANY, EACH = "flag", "one", "many", "each"


class Option:
    """One option: a flag, one value, or values that add up: repeated (each), or comma separated as well (many)."""

    __slots__ = ("choices", "help", "kind", "name", "value")

    def __init__(self, name: str, kind: str, help: str, value: str = "", choices: tuple[str, ...] = ()) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.value = value
        self.choices = choices


class Command:
    """One command. `operands` is how its positional arguments are called in the help; `least` and `most` bound them."""

    __slots__ = ("help", "least", "most", "name", "operands", "options")

    def __init__(
        self, name: str, operands: str, help: str, options: tuple[Option, ...], least: int = 0, most: int | None = None
    ) -> None:
        self.name = name
        self.operands = operands
        self.help = help
        self.options = {option.name: option for option in options}
        self.least = least
        self.most = most


class Parsed:
    """What was typed: the command, its options by name without dashes, its positional arguments."""

    __slots__ = ("command", "operands", "options")

    def __init__(self, command: str, options: dict[str, Value], operands: list[str]) -> None:
        self.command = command
        self.options = options
        self.operands = operands

    def flag(self, name: str) -> bool:
        """Whether a flag was given."""
        return self.options.get(name) is True

    def one(self, name: str) -> str | None:
        """The value of an option, or None."""
        value = self.options.get(name)
        return value if isinstance(value, str) else None

    def many(self, name: str) -> list[str] | None:
        """The values of an option, or None."""
        value = self.options.get(name)
        return value if isinstance(value, list) else None


def parse(argv: Sequence[str], commands: Mapping[str, Command]) -> Parsed:
    """Read a command line whose first word is a command.

    Raises UsageError, with what to type instead.
    """
    name = argv[0]
    command = commands.get(name)
    if command is None:
        raise UsageError(
            f"`{name}` is no command; {_nearest(name, commands, 'commands')}, `shardlint --help` lists them"
        )
    options: dict[str, Value] = {}
    operands: list[str] = []
    rest = list(argv[1:])
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        _option(command, word, rest, options)
    if len(operands) < command.least or (command.most is not None and len(operands) > command.most):
        raise UsageError(f"`shardlint {name}` takes {command.operands or 'no arguments'}; got {len(operands)}")
    return Parsed(name, options, operands)


def _option(command: Command, word: str, rest: list[str], options: dict[str, Value]) -> None:
    name, equals, value = ("--help" if word == "-h" else word).partition("=")
    option = command.options.get(name)
    if option is None:
        raise UsageError(
            f"`shardlint {command.name}` has no option `{name}`; "
            f"{_nearest(name, command.options, 'options')}, `shardlint {command.name} --help` lists them"
        )
    key = name.lstrip("-")
    if option.kind == FLAG:
        if equals:
            raise UsageError(f"`{name}` takes no value")
        options[key] = True
        return
    if not equals:
        if not rest or (rest[0].startswith("--") and len(rest[0]) > 2):
            raise UsageError(f"`{name}` needs a value: {name} {option.value}")
        value = rest.pop(0)
    if not value.strip(", "):
        raise UsageError(f"`{name}` needs a value, and it is empty: {name} {option.value}")
    if option.choices and value not in option.choices:
        raise UsageError(f"`{name}` must be one of {', '.join(option.choices)}, not `{value}`")
    if option.kind == ONE:
        options[key] = value
    else:
        earlier = options.get(key)
        parts = [value] if option.kind == EACH else value.split(",")
        given = [part.strip() for part in parts if part.strip()]
        options[key] = [*(earlier if isinstance(earlier, list) else []), *given]


def _nearest(word: str, known: Mapping[str, object], noun: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f"did you mean `{close[0]}`?" if close else f"there are {len(known)} {noun}"


def usage(command: Command) -> str:
    """The help of one command."""
    lines = [f"usage: shardlint {command.name} {command.operands}".rstrip(), "", command.help, ""]
    for option in command.options.values():
        shown = f"{option.name} {option.value}".rstrip()
        lines.append(f"  {shown:<32} {option.help}" if len(shown) < 32 else f"  {shown}\n{'':35}{option.help}")
    return "\n".join(lines) + "\n"
