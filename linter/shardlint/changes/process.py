"""One child process: its input is fed while its outputs are read, so that no full pipe can block either side.

``subprocess`` would cost a warm run more than git itself takes to answer.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHUNK = 1 << 16
_STDIN, _STDOUT, _STDERR = 0, 1, 2


def communicate(
    program: str, arguments: Sequence[str], environ: Mapping[str, str], data: bytes = b""
) -> tuple[int, bytes, bytes]:
    """Run a program to its end.

    Args:
        program: the absolute path of the executable.
        arguments: what follows its name.
        environ: its whole environment.
        data: what it reads from standard input.

    Returns:
        The exit code (negative: the signal that ended it), standard output and standard error.

    Raises:
        OSError: the program cannot be started.
    """
    child_in, feed = os.pipe()
    out, child_out = os.pipe()
    err, child_err = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, child_in, _STDIN),
            (os.POSIX_SPAWN_DUP2, child_out, _STDOUT),
            (os.POSIX_SPAWN_DUP2, child_err, _STDERR),
        ]
        child = os.posix_spawn(program, [program, *arguments], environ, file_actions=actions)
    except BaseException:
        for end in (feed, out, err):
            os.close(end)
        raise
    finally:
        for end in (child_in, child_out, child_err):
            os.close(end)
    try:
        collected = _exchange(feed, data, out, err)
    finally:
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), collected[0], collected[1]


def _exchange(feed: int, data: bytes, out: int, err: int) -> tuple[bytes, bytes]:
    """Write `data` to `feed` and read `out` and `err` to their ends; closes all three."""
    read: dict[int, list[bytes]] = {out: [], err: []}
    unsent = memoryview(data)
    waiting = select.poll()
    for end in (out, err):
        waiting.register(end, select.POLLIN)
    waiting.register(feed, select.POLLOUT)
    os.set_blocking(feed, False)
    open_ends = {feed, out, err}
    try:
        while open_ends:
            for end, _ in waiting.poll():
                if end == feed:
                    unsent = _send(feed, unsent)
                    done = not unsent
                else:
                    chunk = os.read(end, _CHUNK)
                    read[end].append(chunk)
                    done = not chunk
                if done:
                    waiting.unregister(end)
                    open_ends.remove(end)
                    os.close(end)
    finally:
        for end in open_ends:
            os.close(end)
    return b"".join(read[out]), b"".join(read[err])


def _send(feed: int, unsent: memoryview) -> memoryview:
    """What is left after one write; nothing is left once the child has closed its input."""
    try:
        return unsent[os.write(feed, unsent[:_CHUNK]) :] if unsent else unsent
    except BlockingIOError:
        return unsent
    except BrokenPipeError:
        return unsent[:0]
