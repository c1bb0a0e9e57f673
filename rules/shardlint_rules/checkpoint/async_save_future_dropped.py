"""The rule async-save-future-dropped."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, observation

_DCP = "torch.distributed.checkpoint"


class AsyncSaveFutureDropped(LocalRule):
    """Reports a `dcp.async_save` whose future nobody waits for, or not before the next save of the same loop.

    Why is this bad?
    The save goes on in a thread or process. A full disk or a lost mount raises in there, and only `result()` of the
    future hands that error on: without it the job trains for days and has no checkpoint. Two saves that overlap also
    meet in the same process group, and their collectives may mix.

    Use instead
    Keep the future, call `result()` before the next save and at the end, and give the save a process group of its own.

    Known limits
    A future that is read at all is believed to be waited for: returned, stored in a container, handed to other code,
    or asked in a loop before the next save.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/tutorials/recipes/distributed_async_checkpoint_recipe.html")
    suspects = Call(f"{_DCP}.async_save", f"{_DCP}.state_dict_saver.async_save")
    symptoms = (r"A checkpoint is missing|No such file or directory: '[^']*\.metadata'",)
    proof = ("test_async_save_future_dropped", "a save that fails says nothing unless its future is asked")
    bad = (
        Bad(
            """
            import torch.distributed.checkpoint as dcp

            def save(state, folder):
                dcp.async_save(state, checkpoint_id=folder)  # error
                pending = dcp.async_save(state, checkpoint_id=folder + "/again")  # error
            """
        ),
        Bad(
            """
            from torch.distributed.checkpoint import async_save as start_save

            class Checkpoints:
                def save(self, state, folder):
                    self._pending = start_save(state, checkpoint_id=folder)  # error

            def train(steps, state, folder):
                for step in steps:
                    if step % 100 == 0:
                        future = start_save(state, checkpoint_id=f"{folder}/{step}")  # error
                future.result()
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed.checkpoint as dcp

            def wait(state, folder):
                dcp.async_save(state, checkpoint_id=folder).result()

            def train(steps, state, folder):
                pending = None
                for step in steps:
                    if pending is not None:
                        pending.result()
                    pending = dcp.async_save(state, checkpoint_id=f"{folder}/{step}")
                pending.result()

            def several(parts, folder):
                return [dcp.async_save(part, checkpoint_id=folder) for part in parts]

            """
        ),
        Good(
            {
                "saving.py": """
                import torch.distributed.checkpoint as dcp

                class Checkpoints:
                    def save(self, state, folder):
                        self.pending = dcp.async_save(state, checkpoint_id=folder)
                """,
                "train.py": """
                def finish(checkpoints):
                    checkpoints.pending.result()
                """,
            }
        ),
    )

    def judge(self, site: Site) -> Findings:
        if isinstance(site.statement, ast.Expr) and site.statement.value is site.ast:
            what = "nobody has the future of this save"
        elif len(site.targets) == 1 and not self._asked(site, site.targets[0]):
            what = f"nobody waits for `{site.targets[0].text}`"
        elif len(site.targets) == 1 and self._outlived(site, site.targets[0]):
            what = f"the next round replaces `{site.targets[0].text}` without waiting for it"
        else:
            return
        yield site.finding(
            f"{what}: when it fails nobody is told, the job goes on, and there is no checkpoint",
            help="keep the future and call `result()` on it before the next save and at the end of the job",
        )

    def _asked(self, site: Site, target: Expression) -> bool:
        """Whether anything reads the future, as far as its name reaches."""
        if isinstance(target.ast, ast.Name):
            scope = site.module.scope(target.ast)
            return target.ast.id in scope.globals | scope.nonlocals or bool(_reads(site, target.ast.id))
        name = target.last_name
        return not name or bool(re.search(rf"\.{name}\b(?!\s*=[^=])", site.module.text) or site.project.reads(name))

    def _outlived(self, site: Site, target: Expression) -> bool:
        """Whether the same line may save again before anything reads the future."""
        return isinstance(target.ast, ast.Name) and site.reaches_without(site, _reads(site, target.ast.id))


def _reads(site: Site, name: str) -> list[Expression]:
    """Every read of a name in the function, nested definitions included."""
    names = [node for node in ast.walk(site.function.ast) if isinstance(node, ast.Name) and node.id == name]
    return [Expression(site.module, node, site.voice) for node in names if isinstance(node.ctx, ast.Load)]
