"""What went wrong, with the part of the traceback that is the user's."""

from __future__ import annotations

import traceback
from typing import Any

from .origin import is_users
from .refusal import Refused

_LONGEST = 2000
_MOST_FRAMES = 8
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "cannot allocate memory", "std::bad_alloc")


def describe(error: BaseException) -> dict[str, Any]:
    """The event of a failure: kind, type, message and frames, the innermost last."""
    return {
        "kind": _kind(error),
        "type": type(error).__qualname__,
        "message": _message(error),
        "cause": _cause(error),
        "missing": getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None,
        "frames": _frames(error),
    }


def is_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in _OUT_OF_MEMORY)


def _kind(error: BaseException) -> str:
    if isinstance(error, Refused):
        return "refused"
    if isinstance(error, SystemExit):
        return "exit"
    return "memory" if is_memory(error) else "error"


def _message(error: BaseException) -> str:
    try:
        text = repr(error.code) if isinstance(error, SystemExit) else str(error)
    except Exception:
        return "its message cannot be printed"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _cause(error: BaseException) -> str:
    """The first of the errors from which one was raised on purpose; empty when there was none."""
    cause = error
    for _ in range(_MOST_FRAMES):
        if cause.__cause__ is None:
            break
        cause = cause.__cause__
    return "" if cause is error else f"{type(cause).__qualname__}: {_message(cause)}"


def _frames(error: BaseException) -> list[dict[str, Any]]:
    own = __name__.rpartition(".")[0]
    frames: list[dict[str, Any]] = [
        {"path": summary.filename, "line": summary.lineno or 0, "name": summary.name, "text": summary.line or ""}
        for frame, summary in _walk(error)
        if frame.f_globals.get("__package__") != own
    ]
    if isinstance(error, SyntaxError) and error.filename:
        place = {"path": error.filename, "line": error.lineno or 0, "name": "<module>"}
        frames.append({**place, "text": (error.text or "").strip()})
    users = [frame for frame in frames if is_users(frame["path"])]
    shown = users or frames[-2:]
    return [frame for at, frame in enumerate(shown) if at == 0 or frame != shown[at - 1]][-_MOST_FRAMES:]


def _walk(error: BaseException) -> list[tuple[Any, traceback.FrameSummary]]:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [(frame, summary) for frame, summary in zip(frames, traceback.extract_tb(error.__traceback__))]  # noqa: B905
