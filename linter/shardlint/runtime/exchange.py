"""One child with a pipe of events: it is fed, heard and, when its time is up, killed with all that it started."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeGuard

_CHUNK = 1 << 16
_MOST_OUTPUT = 1 << 16
_MOST_EVENTS = 1 << 29
_POLL = 0.2
_FAULT = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<line>\d+) in (?P<name>\S+)')


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Args:
        code: its exit status; the negative signal when one ended it.
        events: what it told, in order; what is no JSON object is left out.
        output: the last 64 KiB of what it printed.
        timed_out: whether it was killed because its time was up.
        too_much: whether it was killed because it told more than 512 MiB.
    """

    code: int
    events: tuple[dict[str, Any], ...]
    output: str
    timed_out: bool = False
    too_much: bool = False

    def fault_frames(self) -> list[dict[str, Any]]:
        """The frames that faulthandler printed of the thread that crashed, the innermost last."""
        _, _, dump = self.output.rpartition("Current thread")
        found: list[dict[str, Any]] = []
        for line in dump.split("\n")[1:]:
            frame = _FAULT.match(line)
            if frame is None:
                break
            if frame["path"].startswith("<"):
                continue
            found.append({"path": frame["path"], "line": int(frame["line"]), "name": frame["name"], "text": ""})
        return found[::-1]


def exchange(command: Sequence[str], data: bytes, *, cwd: str, environ: Mapping[str, str], timeout: float) -> Ended:
    """Run a command, whose last argument will be the descriptor of its pipe of events, to its end.

    Args:
        data: its standard input.
        timeout: seconds.

    Raises:
        OSError: it cannot be started.
    """
    hear, tell = os.pipe()
    try:
        child = subprocess.Popen(
            [*command, str(tell)],
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(tell,),
            start_new_session=True,
        )
    except BaseException:
        os.close(hear)
        raise
    finally:
        os.close(tell)
    exchanged = _Exchange(child, hear, data)
    try:
        exchanged.run(time.monotonic() + timeout)
    finally:
        _kill(child)
        exchanged.close()
    return exchanged.ended()


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and all processes of its session's group."""
    with suppress(ProcessLookupError, PermissionError):  # it has ended, and so has all that it started
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class _Exchange:
    def __init__(self, child: subprocess.Popen[bytes], hear: int, data: bytes) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._child, self._hear, self._left = child, hear, memoryview(data)
        self._in, self._out = child.stdin, child.stdout
        self._feed = child.stdin.fileno()
        self._told, self._printed = bytearray(), bytearray()
        self._timed_out = self._too_much = False
        self._code: int | None = None
        self._selector = selectors.DefaultSelector()
        for end, event in ((self._in, selectors.EVENT_WRITE), (self._out, selectors.EVENT_READ)):
            os.set_blocking(end.fileno(), False)
            self._selector.register(end.fileno(), event)
        os.set_blocking(hear, False)
        self._selector.register(hear, selectors.EVENT_READ)

    def run(self, deadline: float) -> None:
        """Until the child has ended, whatever still holds its pipes."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self._timed_out = True
                return
            ready = self._selector.select(min(left, _POLL))
            for key, _ in ready:
                self._serve(key.fd)
            if len(self._told) > _MOST_EVENTS:
                self._too_much = True
                return
            code = self._child.poll()
            if code is not None:
                self._code = code
                self._drain()
                return

    def _serve(self, end: int) -> bool:
        """Move what can be moved now; whether anything was."""
        try:
            if end == self._feed:
                self._left = self._left[os.write(end, self._left[:_CHUNK]) :]
                if not self._left:
                    self._finish(end)
                return True
            data = os.read(end, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # it reads no more
            data = b""
        if not data:
            self._finish(end)
            return False
        into = self._told if end == self._hear else self._printed
        into += data
        if into is self._printed:
            del into[:-_MOST_OUTPUT]
        return True

    def _finish(self, end: int) -> None:
        self._selector.unregister(end)
        if end == self._feed:
            self._in.close()

    def _drain(self) -> None:
        """Read what the child left in its pipes; a process that it started may go on printing for ever."""
        for end in (self._hear, self._out.fileno()):
            for _ in range(_MOST_EVENTS // _CHUNK):
                if end not in self._selector.get_map() or not self._serve(end):
                    break

    def close(self) -> None:
        self._selector.close()
        os.close(self._hear)
        for end in (self._in, self._out):
            with suppress(OSError):  # what was not written is of no use any more
                end.close()

    def ended(self) -> Ended:
        code = self._child.returncode if self._code is None else self._code
        output = self._printed.decode("utf-8", "replace")
        return Ended(code, tuple(_events(bytes(self._told))), output, self._timed_out, self._too_much)


def _events(told: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in told.split(b"\n"):
        try:
            event: Any = json.loads(line) if line else None
        except ValueError:
            continue
        if _is_event(event):
            found.append(event)
    return found


def _is_event(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
