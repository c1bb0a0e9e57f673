"""A constraint at work: what it says of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardlint.finding import Evidence, Finding, Fix, Related
from shardlint.knowledge.checks import compiled
from shardlint.knowledge.constraint import Constraint
from shardlint.not_judged import NotJudged
from shardlint.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shardlint.configs.document import Document
    from shardlint.environment import Environment
    from shardlint.facts.module import Module
    from shardlint.knowledge.config_check import ConfigCheck
    from shardlint.loading import Row
    from shardlint.syntax.patterns import Forbidden, Pattern
