"""Replacing a file in one step: a reader sees the old content or the new one, never a half of it."""

from __future__ import annotations

import os


def replace_file(path: str, data: bytes) -> None:
    """Write `data` to `path` through a temporary file in the same folder; the mode of an existing file is kept.

    A device or a pipe, such as `/dev/null`, is written to as it is: to replace it would take it from everybody.

    Raises:
        OSError: the folder is missing or not writable; then an existing file is unchanged and nothing is left over.
    """
    from tempfile import mkstemp

    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "wb") as device:
            device.write(data)
        return
    folder, name = os.path.split(os.path.abspath(path))
    try:
        mode = os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mode = 0o666 & ~_umask()
    handle, temporary = mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    # There is no call that only reads it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
