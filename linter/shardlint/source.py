"""The text of one Python file, with lines and columns as CPython counts them.

Imports nothing that costs time: only files that changed are decoded, but a commit of one file should stay cheap.
"""

from __future__ import annotations

from shardlint.errors import UndecodableSource

try:  # the module behind hashlib.blake2b; hashlib itself costs milliseconds because it loads OpenSSL
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_BOM = b"\xef\xbb\xbf"


class Source:
    """A decoded file: `text` has no BOM and keeps its line ends, so that an edit changes nothing else.

    `encoding` is the one to write the file back with; `bom` says whether the bytes began with a UTF-8 BOM.
    """

    __slots__ = ("_lines", "bom", "encoding", "text")

    def __init__(self, text: str, encoding: str = "utf-8", bom: bool = False) -> None:
        self.text = text
        self.encoding = encoding
        self.bom = bom
        self._lines: list[str] | None = None

    @property
    def lines(self) -> list[str]:
        """The lines without their ends, split at ``\\n``, ``\\r\\n`` and ``\\r`` only, as the tokenizer does.

        `str.splitlines` would also split at form feeds and other separators that CPython takes for part of a line.
        """
        if self._lines is None:
            text = self.text
            if "\r" in text:
                text = text.replace("\r\n", "\n").replace("\r", "\n")
            self._lines = text.split("\n")
        return self._lines

    def column(self, line: int, offset: int) -> int:
        """The column, in characters from 1, of ast's `line` (from 1) and `offset` (in UTF-8 bytes, from 0).

        An offset in the middle of a character or past the end of the line (CPython before 3.12 gives such ones inside
        f-strings) is moved to the nearest character before it.
        """
        lines = self.lines
        text = lines[line - 1] if line <= len(lines) else ""
        if text.isascii():
            return min(offset, len(text)) + 1
        before = text.encode("utf-8", "surrogatepass")[:offset]
        return len(before.decode("utf-8", "ignore")) + 1

    def encode(self, text: str) -> bytes:
        """The bytes to write for a changed `text` of this file. Raises UnicodeEncodeError if they lack a character."""
        data = text.encode(self.encoding)
        return _BOM + data if self.bom else data


def content_hash(data: bytes) -> bytes:
    """16 bytes that name this content."""
    return blake2b(data, digest_size=16).digest()


def plain_lines(data: bytes) -> bytes:
    """The bytes of a file without its BOM, every line ended by ``\\n``: for a look at lines that needs no text."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.removeprefix(_BOM)


def decode(data: bytes) -> Source:
    """The text of a Python file, by its BOM and its encoding comment (PEP 263).

    Raises UndecodableSource for bytes that CPython would not run: NUL bytes, an unknown or a contradicting encoding,
    bytes that are not valid in the encoding. (`compile` is laxer than `python file.py` for bad bytes inside a comment;
    such a file is refused here too.)
    """
    if b"\0" in data:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UndecodableSource("the file is UTF-16, which Python cannot run: save it as UTF-8", 1)
        line = _line_at(data, data.index(b"\0"))
        raise UndecodableSource("the file holds a NUL byte, which Python cannot run: remove it", line)
    bom = data.startswith(_BOM)
    body = data[3:] if bom else data
    encoding = _declared_encoding(data) if b"coding" in _first_two_lines(body) else "utf-8"
    try:
        return Source(body.decode(encoding), encoding, bom)
    except UnicodeDecodeError as error:
        line = _line_at(body, error.start)
        what = f"the bytes are not {encoding}: save the file as UTF-8 or name its encoding on the first line"
        raise UndecodableSource(what, line) from None
    except (LookupError, UnicodeError, ValueError) as error:
        raise UndecodableSource(f"the file cannot be read in its encoding `{encoding}`: {error}", 1) from None


def _first_two_lines(body: bytes) -> bytes:
    """The only lines where an encoding comment counts; a lone ``\\r`` ends a line too."""
    head = body[:4096]
    lines = head.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)
    if len(lines) < 3 and len(body) > len(head):
        lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)
    return b"\n".join(lines[:2]) + b"\n"


def _declared_encoding(data: bytes) -> str:
    from tokenize import detect_encoding

    bom = data.startswith(_BOM)
    head = _first_two_lines(data[3:] if bom else data)
    # Whether the other bytes are valid is for the declared encoding to say, but detect_encoding judges them as UTF-8.
    head = head.decode("ascii", "replace").encode("ascii", "replace")
    lines = [line + b"\n" for line in head.split(b"\n")[:2]]
    if bom:
        lines[0] = _BOM + lines[0]
    rest = iter(lines)
    try:
        encoding, _ = detect_encoding(lambda: next(rest, b""))
    except SyntaxError as error:
        raise UndecodableSource(f"the encoding comment of the file is wrong: {error.msg}", 1) from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1
