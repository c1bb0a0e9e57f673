"""A reader of pickles that can build plain values and stand-ins, and nothing else.

Python's own unpickler calls what a pickle names. This one calls nothing: a global is a name that either stands on a
list or ends the reading, an object is its class's name with its state beside it. So a hostile file can only be long,
and its length, its memo and the nesting of its tuples are bounded. Opcodes:
https://docs.python.org/3/library/pickletools.html
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection

from shardlint.runtime.checkpoint.plain import is_dict, is_list, is_tuple

MOST_BYTES = 1 << 28
"""Of a pickle: a checkpoint with a million shards has about 200 MB of metadata."""

_DEEPEST = 4
"""How deep tuples may lie in tuples."""

_BYTES_EACH = 6
"""A list, dict or object takes ten bytes of a real pickle at least, and one of a pickle that is made to fill memory."""

_SHOWN = 200
"""How many characters of a name in a file are shown."""


class Refused(Exception):
    """A pickle that is not read on, and why: the text goes into a sentence after the name of the file."""


class Global:
    """The name of a class or function. It is never imported."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Made:
    """A stand-in for an object: what its class was, and what it was given."""

    __slots__ = ("arguments", "of", "state")

    def __init__(self, of: str, arguments: tuple[object, ...]) -> None:
        self.of = of
        self.arguments = arguments
        self.state: object = None


def printable(text: str) -> str:
    """A name from a file, cut and without what a terminal would obey."""
    shown = "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])
    return shown + "..." if len(text) > _SHOWN else shown


_U1, _U2, _U4, _U8, _I4, _F8 = (struct.Struct(form).unpack_from for form in ("<B", "<H", "<I", "<Q", "<i", ">d"))


class PickleSubset:
    """One pickle.

    Args:
        data: its bytes.
        admitted: the globals that it may name, as `module.name`.
    """

    def __init__(self, data: bytes, admitted: Collection[str]) -> None:
        self.data = data
        self.at = 0
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: list[object] = []
        self.left = 1000 + len(data) // _BYTES_EACH
        self.globals = {name: Global(name) for name in admitted}

    def read(self) -> object:
        """The value that the pickle holds. Raises Refused for everything that it may not hold."""
        if len(self.data) > MOST_BYTES:
            raise Refused(f"has {len(self.data)} bytes, more than the {MOST_BYTES} that are read")
        data, codes = self.data, _CODES
        try:
            while True:
                code = data[self.at]
                self.at += 1
                if code == _STOP:
                    return self.stack.pop()
                codes[code](self)
        except KeyError:
            raise Refused(f"holds the opcode 0x{data[self.at - 1]:02x}, which no checkpoint needs") from None
        except (IndexError, struct.error):
            raise Refused("ends early or is no pickle") from None

    def number(self, unpack: Callable[[bytes, int], tuple[int, ...]], size: int) -> int:
        """The next whole number of a form."""
        (value,) = unpack(self.data, self.at)
        self.at += size
        return value

    def taken(self, size: int) -> bytes:
        """The next bytes."""
        end = self.at + size
        if end > len(self.data):
            raise IndexError
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def popped(self) -> list[object]:
        """What lies above the last mark."""
        start = self.marks.pop()
        above = self.stack[start:]
        del self.stack[start:]
        return above

    def made(self, value: object) -> None:
        """Put a new list, dict or object on the stack."""
        self.left -= 1
        if self.left < 0:
            raise Refused("makes more objects than a checkpoint of its size does")
        self.stack.append(value)

    def named(self, module: object, name: object) -> Global:
        """A global, if it is admitted."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise Refused("names a global by something that is no text")
        found = self.globals.get(f"{module}.{name}")
        if found is None:
            raise Refused(
                f"asks for `{printable(module)}.{printable(name)}`, which torch's "
                "checkpoints do not need: loading it may run any code"
            )
        return found


def _text(size: Callable[[bytes, int], tuple[int, ...]], width: int) -> Callable[[PickleSubset], None]:
    def read(p: PickleSubset) -> None:
        try:
            p.stack.append(p.taken(p.number(size, width)).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise Refused("holds a text that is no UTF-8") from None

    return read


def _whole(unpack: Callable[[bytes, int], tuple[int, ...]], width: int) -> Callable[[PickleSubset], None]:
    return lambda p: p.stack.append(p.number(unpack, width))


def _constant(value: object) -> Callable[[PickleSubset], None]:
    return lambda p: p.stack.append(value)


def _tuple(count: int) -> Callable[[PickleSubset], None]:
    def read(p: PickleSubset) -> None:
        if len(p.stack) < count:
            raise IndexError
        _put_tuple(p, tuple(p.stack[-count:]))
        del p.stack[-count - 1 : -1]

    return read


def _put_tuple(p: PickleSubset, value: tuple[object, ...]) -> None:
    if _deeper(value, _DEEPEST):
        raise Refused("nests tuples deeper than a checkpoint does")
    p.stack.append(value)


def _deeper(value: tuple[object, ...], left: int) -> bool:
    return any(is_tuple(one) and (left == 0 or _deeper(one, left - 1)) for one in value)


def _long(p: PickleSubset) -> None:
    p.stack.append(int.from_bytes(p.taken(p.number(_U1, 1)), "little", signed=True))


def _float(p: PickleSubset) -> None:
    p.stack.append(_F8(p.data, p.at)[0])
    p.at += 8


def _skip(size: int) -> Callable[[PickleSubset], None]:
    def read(p: PickleSubset) -> None:
        p.at += size

    return read


def _memoize(p: PickleSubset) -> None:
    p.memo.append(p.stack[-1])


def _get(unpack: Callable[[bytes, int], tuple[int, ...]], width: int) -> Callable[[PickleSubset], None]:
    return lambda p: p.stack.append(p.memo[p.number(unpack, width)])


def _line(p: PickleSubset) -> str:
    end = p.data.find(b"\n", p.at, p.at + 1000)
    if end < 0:
        raise IndexError
    return p.taken(end + 1 - p.at)[:-1].decode("utf-8", "replace")


def _global(p: PickleSubset) -> None:
    module = _line(p)
    p.stack.append(p.named(module, _line(p)))


def _stack_global(p: PickleSubset) -> None:
    name, module = p.stack.pop(), p.stack.pop()
    p.stack.append(p.named(module, name))


def _reduce(p: PickleSubset) -> None:
    arguments, called = p.stack.pop(), p.stack.pop()
    if not isinstance(called, Global) or not is_tuple(arguments):
        raise Refused("calls something that is no global")
    p.made(Made(called.name, arguments))


def _build(p: PickleSubset) -> None:
    state, made = p.stack.pop(), p.stack[-1]
    if not isinstance(made, Made):
        raise Refused("gives a state to something that is no object")
    made.state = state


def _append(p: PickleSubset) -> None:
    value = p.stack.pop()
    _list(p).append(value)


def _appends(p: PickleSubset) -> None:
    values = p.popped()
    _list(p).extend(values)


def _list(p: PickleSubset) -> list[object]:
    target = p.stack[-1]
    if not is_list(target):
        raise Refused("appends to something that is no list")
    return target


def _set_item(p: PickleSubset) -> None:
    value, key = p.stack.pop(), p.stack.pop()
    _put(p, [key, value])


def _set_items(p: PickleSubset) -> None:
    _put(p, p.popped())


def _put(p: PickleSubset, pairs: list[object]) -> None:
    target = p.stack[-1]
    if not is_dict(target) or len(pairs) % 2:
        raise Refused("sets items of something that is no dict")
    for at in range(0, len(pairs), 2):
        key = pairs[at]
        # A tuple would be hashed as deep as it is nested; these are hashed at once.
        if not isinstance(key, (str, int, Made)):
            raise Refused("has a dict key that is neither text nor an object")
        if key in target:
            raise Refused(f"gives the key `{printable(str(key))}` twice")
        target[key] = pairs[at + 1]


_STOP = ord(".")
_CODES: dict[int, Callable[[PickleSubset], None]] = {
    0x80: _skip(1),  # PROTO
    0x95: _skip(8),  # FRAME
    ord("("): lambda p: p.marks.append(len(p.stack)),
    ord("}"): lambda p: p.made({}),
    ord("]"): lambda p: p.made([]),
    ord(")"): _constant(()),
    ord("N"): _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    ord("K"): _whole(_U1, 1),
    ord("M"): _whole(_U2, 2),
    ord("J"): _whole(_I4, 4),
    0x8A: _long,
    ord("G"): _float,
    0x8C: _text(_U1, 1),
    ord("X"): _text(_U4, 4),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    ord("t"): lambda p: _put_tuple(p, tuple(p.popped())),
    0x94: _memoize,
    ord("h"): _get(_U1, 1),
    ord("j"): _get(_U4, 4),
    ord("c"): _global,
    ord("i"): _global,  # INST: its class, and so its refusal, is read the same way
    0x93: _stack_global,
    ord("R"): _reduce,
    0x81: _reduce,  # NEWOBJ
    ord("b"): _build,
    ord("a"): _append,
    ord("e"): _appends,
    ord("s"): _set_item,
    ord("u"): _set_items,
}
"""What torch's checkpoints are written with, protocols 4 and 5, and the older ways to name a global."""
