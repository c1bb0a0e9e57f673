"""What the child tells its parent: JSON, an event a line, on a pipe of its own, which prints cannot reach."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Events:
    """The pipe to the parent.

    Args:
        pipe: its descriptor.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._process = os.getpid()
        self.stage = "start"

    def send(self, event: str, **what: Any) -> None:
        """Tell one thing. A process that the user's code forked off tells nothing: it ends."""
        if os.getpid() != self._process:
            os._exit(1)
        data = memoryview(json.dumps({"event": event, **what}, allow_nan=False).encode() + b"\n")
        while data:
            data = data[os.write(self._pipe, data) :]

    def warn(self, text: str) -> None:
        """Tell what does not stop the run."""
        self.send("warning", text=text)

    @contextmanager
    def during(self, stage: str) -> Generator[None, None, None]:
        """A stage: it is told when it begins and, unless it fails, how many seconds it took."""
        self.stage = stage
        self.send("stage", name=stage)
        start = time.monotonic()
        yield
        self.send("stage_end", name=stage, seconds=round(time.monotonic() - start, 4))
