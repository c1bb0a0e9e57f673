"""The examples of a rule: its tests and its documentation. `# error` ends each line that must be reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MARK = "# error"


class Example:
    """One example.

    Args:
        source: the text of one file, or path -> text for several files.
        path: the name of a single file; its suffix tells its kind.
        before, after: for change rules, the two states: path -> text.
        model, plan, mesh: for plan rules, in the text form of `shardlint.runtime.plan`.
        checkpoint: for checkpoint rules, with `model`, in the text form of `shardlint.runtime.checkpoint`.
        versions: packages that the linted project pins: name -> version.
        installed: files of the environment that the linted project uses: path below `site-packages` -> text.
        fixed: what the single file must be after the rule's fix.
        waits, raises: for bad examples, the proof that two ranks run. Each is driver -> what is seen: the function in
            which a rank waits for ever, called from a marked line; a regular expression over `Type: text` of an error.
        runs: for good examples, the drivers that both ranks finish.

    A driver is Python code. It sees the names of the file `main`, `torch`, `dist` (`torch.distributed`), `rank`, and
    `folder`, the name of an empty folder that both ranks see. Nothing runs it but the project's own proofs.
    """

    expects_findings = False

    def __init__(
        self,
        source: str | Mapping[str, str] = "",
        *,
        path: str = "example.py",
        before: Mapping[str, str] | None = None,
        after: Mapping[str, str] | None = None,
        model: str = "",
        plan: str = "",
        mesh: str = "",
        checkpoint: str = "",
        versions: Mapping[str, str] | None = None,
        installed: Mapping[str, str] | None = None,
        fixed: str | None = None,
        waits: Mapping[str, str] | None = None,
        raises: Mapping[str, str] | None = None,
        runs: Sequence[str] = (),
    ) -> None:
        files = {path: source} if isinstance(source, str) else dict(source)
        self.before = None if before is None else {name: _dedent(text) for name, text in before.items()}
        chosen = files if after is None else after
        self.files = {name: _dedent(text) for name, text in chosen.items()}
        self.model = _dedent(model)
        self.plan = _dedent(plan)
        self.mesh = mesh
        self.checkpoint = _dedent(checkpoint)
        self.versions = dict(versions or {})
        self.installed = {name: _dedent(text) for name, text in (installed or {}).items()}
        self.fixed = None if fixed is None else _dedent(fixed)
        self.waits = {_dedent(driver): call for driver, call in (waits or {}).items()}
        self.raises = {_dedent(driver): error for driver, error in (raises or {}).items()}
        self.runs = tuple(map(_dedent, runs))

    @property
    def main(self) -> str:
        """The Python file whose names a driver sees: the first with a mark, or the first."""
        code = [path for path in self.files if path.endswith(".py")]
        return min((path for path, _ in self.marked if path in code), default=next(iter(code), ""))

    @property
    def marked(self) -> set[tuple[str, int]]:
        """The (path, line) of every `# error` mark; plan examples mark lines of the plan or checkpoint."""
        stated = {"plan": self.plan, "checkpoint": self.checkpoint}
        texts = {path: text for path, text in stated.items() if text} or self.files
        found: set[tuple[str, int]] = set()
        for path, text in texts.items():
            for number, line in enumerate(text.split("\n"), 1):
                if line.rstrip().endswith(MARK):
                    found.add((path, number))
        return found


class Bad(Example):
    """Code with the defect: the rule must report exactly the marked lines."""

    expects_findings = True


class Good(Example):
    """Healthy code that a careless rule would report: the rule must stay silent."""


def _dedent(text: str) -> str:
    from textwrap import dedent

    body = dedent(text).strip("\n")
    return body + "\n" if body else ""
