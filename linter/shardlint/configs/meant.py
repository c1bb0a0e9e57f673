"""What the values of a training config are for: text alone, images, sound or video, or diffusion models."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from shardlint.configs.site import Scalar

TEXT = frozenset(("text",))
DIFFUSION = frozenset(("diffusion",))
MEDIA = frozenset(("image", "audio", "video"))

_NAMES = {"image": "images", "audio": "sound", "video": "video"}

Words = Mapping[str, Iterable[str]]


class Told(NamedTuple):
    """A value of a config, and what it is for."""

    at: Scalar
    kinds: frozenset[str]

    def __str__(self) -> str:
        kinds, value = self.kinds, "" if isinstance(self.at.value, dict) else f": {self.at.value}"
        media = " and ".join(_NAMES[kind] for kind in sorted(kinds & MEDIA)) if kinds != MEDIA else ""
        what = "text alone" if kinds == TEXT else "diffusion models" if kinds == DIFFUSION else media
        return f"`{self.at.pointer}{value}` is for {what or 'images, sound or video'}"


class Meant:
    """What a config of one framework says of modalities, as far as it is known.

    Args:
        model: the value that names the model.
        words: section -> name -> words of the table `config_modalities` of a rule pack: `models`, and a section for the
            framework, whose names are explained there.
        entries: the words of a section of another table, by table, `templates` or `datasets`, and framework.
        without: settings that something overrides, so that the config does not decide them; `data` is all below it.
    """

    def __init__(
        self,
        framework: str,
        model: Scalar,
        words: Mapping[str, Words],
        entries: Callable[[str, str, str], Mapping[str, tuple[str, ...]]],
        without: Collection[str] = (),
    ) -> None:
        self.model = model
        self._framework = framework
        self._models, self._own = words["models"], words[framework]
        self._entries = entries
        self._without = without

    def has(self, key: str) -> bool:
        """Whether the table has a name for the framework."""
        return key in self._own

    def stated(self, key: str) -> list[Scalar]:
        """The values that the document gives, of those that a name of the table lists: pointers, or `pointer=value`."""
        return self._given(self._own.get(key, ()))

    def first(self, key: str) -> Scalar | None:
        """The first of the values that are stated."""
        return next(iter(self.stated(key)), None)

    @cached_property
    def takes(self) -> str:
        """What the model takes, by its name on a hub: "text", "media" or "native"; empty for one that is not known."""
        if self._hidden(self.model.pointer):
            return ""
        name = str(self.model.value).rstrip("/").rpartition("/")[2].lower()
        return next((kind for kind, names in self._models.items() if name in names), "")

    @cached_property
    def template(self) -> Scalar | None:
        """The template; None also for a model that takes none."""
        untaught = any(part in str(self.model.value).lower() for part in self._own.get("untaught", ()))
        return None if untaught else self.first("template")

    @cached_property
    def made(self) -> frozenset[str]:
        """What the template is made for; nothing if that is not known, or there is none that matters."""
        if self.template is None:
            return frozenset()
        own, given = self._own, str(self.template.value)
        if "template_text" in own:
            return TEXT if given in own["template_text"] else MEDIA if given in own["template_media"] else frozenset()
        shipped = self._entries("template_modalities", "templates", self._framework).get(given, ())
        known = frozenset(self.template.modality("templates").get(given, "").split() or shipped)
        return known if known == TEXT or "exact" in own else known & MEDIA

    @cached_property
    def data(self) -> tuple[Scalar | None, frozenset[str]]:
        """A value that names datasets, and what they hold: media if one is known to, text alone if all are."""
        named = self.stated("data")
        if not named or any(folder.value != "data" for folder in self._given(["dataset_dir"])):
            return None, frozenset()
        table = next(iter(self._own["datasets"]))
        added = {one: tuple(words.split()) for one, words in self.model.modality("datasets").items()}
        known = {**self._entries(table, "datasets", self._framework), **added}
        held = [(data, known.get(word, ())) for data in named for word in re.findall(r"[\w./-]+", str(data.value))]
        media = [(data, frozenset(kinds) & MEDIA) for data, kinds in held if len(kinds) > 1]
        union = frozenset[str]().union(*(kinds for _, kinds in media))
        return (media[0][0], union) if media else (None, TEXT if all(kinds for _, kinds in held) else frozenset())

    def unlike(self, kind: str) -> Told | None:
        """A value for other samples than a script makes.

        Args:
            kind: what the script makes them with: "tokenizer" for text, "processor" for media, "neither" for diffusion.
        """
        if self.stated("composed"):
            return None
        drawn, made, text = self.first("diffusion_read"), self.made, self.takes == "text"
        neither = kind == "neither" and drawn is None
        for applies, at, kinds in (
            (kind != "neither", drawn, DIFFUSION),
            (kind == "tokenizer", self.first("media_read"), MEDIA),
            (kind == "tokenizer" and made & MEDIA, self.template, made),
            (kind == "processor", self.first("text_read"), TEXT),
            (kind == "processor" and made == TEXT, self.template, TEXT),
            (kind == "processor" and text, self.model, TEXT),
            (neither and made, self.template, made),
            (neither and self.takes, self.model, TEXT if text else MEDIA),
        ):
            if applies and at is not None:
                return Told(at, kinds)
        return None

    def _given(self, wanted: Iterable[str]) -> list[Scalar]:
        pairs = ((self.model.other(pointer), value) for pointer, _, value in (word.partition("=") for word in wanted))
        given = ((at, value) for at, value in pairs if at is not None and at.value not in (None, "", {}, []))
        return [at for at, value in given if value in ("", str(at.value).lower()) and not self._hidden(at.pointer)]

    def _hidden(self, pointer: str) -> bool:
        steps = pointer.split(".")
        above = (".".join(steps[:end]) for end in range(1, len(steps) + 1))
        return any(name in self._without for name in above)


__all__ = ["DIFFUSION", "MEDIA", "TEXT", "Meant", "Told"]
