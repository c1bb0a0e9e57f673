"""What is found now beside what has been judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from .labels import Label
from .running import Found

Key = tuple[str, str, str]


class Comparison(NamedTuple):
    """`kept`: labels that still have a finding, with line, severity and `shown` of today. `new`: findings without a
    label. `vanished`: labels without a finding."""

    kept: list[Label]
    new: list[Found]
    vanished: list[Label]


def compare(found: Iterable[Found], labels: Iterable[Label]) -> Comparison:
    """Match findings and labels by path, rule and text of the line.

    The number of the line only decides between lines that look alike: those that stayed are matched first, the others
    in their order. So an edit above a finding changes nothing.
    """
    waiting: dict[Key, list[Label]] = defaultdict(list)
    for label in sorted(labels, key=lambda label: label.line):
        waiting[label.path, label.rule, label.hash].append(label)
    alike: dict[Key, list[Found]] = defaultdict(list)
    for finding in sorted(found, key=lambda finding: finding.line):
        alike[finding.path, finding.rule, finding.hash].append(finding)

    kept: list[Label] = []
    new: list[Found] = []
    for key, findings in alike.items():
        moved: list[Found] = []
        for finding in findings:
            stayed = next((label for label in waiting[key] if label.line == finding.line), None)
            if stayed is None:
                moved.append(finding)
            else:
                kept.append(_renewed(waiting[key], stayed, finding))
        for finding in moved:
            if waiting[key]:
                kept.append(_renewed(waiting[key], waiting[key][0], finding))
            else:
                new.append(finding)
    return Comparison(kept, new, [label for left in waiting.values() for label in left])


def _renewed(waiting: list[Label], label: Label, finding: Found) -> Label:
    waiting.remove(label)
    return label._replace(line=finding.line, severity=finding.severity, shown=finding.shown)
