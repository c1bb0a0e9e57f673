"""The rule all-gather-drops-grad."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Matching, Method, Site, lesson_through, observation

_NAMES = ("all_gather", "all_gather_single", "all_gather_into_tensor", "_all_gather_base")
_GATHERS = Call(*(f"{package}.{name}" for package in ("torch.distributed", "deepspeed.comm") for name in _NAMES))
_ACCELERATOR = Method("accelerate.Accelerator", "gather", "gather_for_metrics", named=("accelerator",))
_LOSSES = Matching(r"\.(?:manual_)?backward\(|def (?:training_step|compute_loss)\b")
_MODULES = Matching(r"(?m)^class \w+\([^)]*Module\b.*(?:\n(?:[ \t].*)?)*?\n[ \t]+.*all_gather")
_HELPERS = Matching(r"all_gather\w*(?: as |\((?:(?!group)[^()]|\((?:[^()]|\([^()]*\))*\))*\))")


class AllGatherDropsGrad(LocalRule):
    """Reports features from which a model learns only through `all_gather`, which passes no gradient back.

    Why is this bad?
    `dist.all_gather` and `Accelerator.gather` fill new tensors, which know nothing of the graph. A loss of the gathered
    features alone has no gradient for the model that made them: that part learns nothing, and nothing is said.

    Use instead
    `torch.distributed.nn.functional.all_gather`, or put the rank's own features back: `bank[rank] = features`.

    Known limits
    Features come from a call of something named like a model, and nothing else may use them. The function that gathers
    them, or its caller without a `group`, goes backward, is `compute_loss` or `training_step`, or a `forward`.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather")
    suspects = (_GATHERS & (_LOSSES | _MODULES | _HELPERS)) | (_ACCELERATOR & _LOSSES)
    ranks = (
        "rank 0 gathers the features of all ranks, which come back without a gradient",
        "rank 1 does the same: no loss reaches the features through the gather",
        "both ranks train on and learn nothing from each other, or nothing at all",
    )
    symptoms = (r"does not require grad and does not have a grad_fn", r"an autograd kernel was not registered")
    proof = (
        "test_all_gather_drops_grad",
        "the model has no gradient until its own features are put back",
    )
    bad = (
        Bad(
            """
            import torch
            import torch.distributed as dist

            def step(model, scale, batch, nce):
                features = torch.nn.functional.normalize(model(batch), dim=-1)
                bank = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
                dist.all_gather(bank, features)  # error
                nce(torch.cat(bank) * scale).backward()
            """
        ),
        Bad(
            {
                "gathering.py": """
                from torch.distributed import all_gather_into_tensor as collect

                def everybody(x):
                    out = x.new_empty(8 * x.shape[0], x.shape[1])
                    collect(out, x.contiguous())  # error
                    return out
                """,
                "train.py": """
                from gathering import everybody

                class Contrastive:
                    def training_step(self, batch):
                        image, text = everybody(self.encode_image(batch)), everybody(self.encode_text(batch))
                        return self.nce(image @ text.t() * self.scale)
                """,
            }
        ),
        Bad(
            """
            import torch

            class Fusion(torch.nn.Module):
                def forward(self, pixels, text):
                    seen = self.projection(pixels)
                    parts = [torch.empty_like(seen) for _ in range(4)]
                    torch.distributed.all_gather(parts, seen.contiguous())  # error
                    return torch.cat([text, *parts], dim=1)

            def train(accelerator, model, batch, nce):
                accelerator.backward(nce(accelerator.gather(model(batch))))  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch, torch.distributed as dist
            from torch.distributed.nn.functional import all_gather as gather_with_grad

            def step(model, scale, batch, nce):
                features = torch.nn.functional.normalize(model(batch), dim=-1)
                dist.all_gather(bank := [torch.zeros_like(features) for _ in range(2)], features)
                bank[dist.get_rank()] = features
                nce(torch.cat(bank) * scale).backward()

            def differentiable(model, scale, batch, nce):
                nce(torch.cat(gather_with_grad(model(batch))) * scale).backward()

            def negatives(model, teacher, batch, nce, bank, keys, labels):
                features = model(batch)
                dist.all_gather(bank, features), dist.all_gather(keys, teacher(batch))
                dist.all_gather(labels, model(batch).argmax(1).detach())
                nce(features, torch.cat(bank), torch.cat(keys), labels).backward()

            def metrics(accelerator, model, batch, loss, log):
                log(accelerator.gather_for_metrics(model(batch))), accelerator.backward(loss)

            @torch.no_grad()
            def training_step(model, batch, bank):
                return dist.all_gather(bank, model(batch)), torch.cat(bank)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        fills = site.name.rpartition(".")[2] in _NAMES
        given = site.argument("tensor", int(fills)) or site.argument("input_tensor", int(fills))
        filled = (site.argument("tensor_list", 0) or site.argument("output_tensor", 0)) if fills else None
        helper = fills and not site.argument("group", 2)
        if given and (filled or not fills) and (lesson := lesson_through(site, given, filled, helpers=helper)):
            yield site.finding(
                f"`{site.called}` passes no gradient back, and nothing else uses what `{lesson.forward}` gives: "
                "that part of the model learns nothing from it, and nothing is said",
                help="use `torch.distributed.nn.functional.all_gather`, or put the rank's own tensor back in its place",
                related=[] if lesson.place is site else [lesson.place.note("gathered for a loss here")],
                certainty=0.8,
            )
