"""Replacing a file in one step: a reader sees the old content or the new one, never a half of it."""

from __future__ import annotations

import os


def replace_file(path: str, data: bytes) -> None:
    """Write `data` to `path` through a temporary file in the same folder; the mode of an existing file is kept.

    A link stays one: the file that it leads to is replaced. A device or a pipe, such as `/dev/null` or `/dev/stdout`, is
    written to.

    Raises:
        OSError: the folder is missing or not writable; then an existing file is unchanged and nothing is left over.
    """
    import stat
    from tempfile import mkstemp

    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o666 & ~_umask()
    if not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            file.write(data)
        return
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    handle, temporary = mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    # There is no call that only reads it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
