"""A forest plot drawn with characters."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from fsl_sweep.orchestrator.report.document.blocks import Forest, Mark, grouped

LEAST_SCALE = 24
"""Characters of the narrowest scale."""


def drawn(forest: Forest, width: int, most: int | None = None) -> list[str]:
    """The plot as lines of at most ``width`` characters.

    With ``most``, no more marks than that: of each group the first ones, then the first groups.
    """
    marks = forest.marks if most is None else _shortened(forest.marks, most)
    values = [value for mark in marks for value in (mark.low, mark.mean, mark.high)]
    known = np.array([value for value in values if isfinite(value)])
    if not len(known):
        return []
    group = min(max(len(mark.group) for mark in marks), 24)
    name = min(max(len(mark.name) for mark in marks), 32)
    room = max(width - group - name - 15, LEAST_SCALE)
    step = _step(float(np.ptp(known)), room)
    low = step * np.floor(known.min() / step)
    high = max(step * np.ceil(known.max() / step), low + step)

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (room - 1))

    ticks = np.arange(low, high + step / 2, step)
    lines = [_ticks(forest.title, ticks, at, group + name + 6, room)]
    before = None
    for mark in marks:
        shown = "" if mark.group == before else _cut(mark.group, group)
        before = mark.group
        line = f"  {shown:{group}}  {_cut(mark.name, name):{name}}  {_bar(mark, at, room)}"
        lines.append(f"{line}  {mark.mean:5.1f}" if isfinite(mark.mean) else line.rstrip())
    if left := len(forest.marks) - len(marks):
        lines.append(f"  ... and {left} more lines.")
    return lines


def _shortened(marks: Sequence[Mark], most: int) -> list[Mark]:
    groups = grouped(marks, lambda mark: mark.group)
    each = max(1, most // len(groups))
    kept = [mark for group in groups for mark in _kept(group, each)]
    return kept[:most]


def _kept(group: Sequence[Mark], most: int) -> list[Mark]:
    """The first ones, and the last reference if there is room for two."""
    if len(group) <= most:
        return list(group)
    references = [mark for mark in group if mark.reference][-1:] if most > 1 else []
    usual = [mark for mark in group if not mark.reference] or list(group)
    return [*usual[: most - len(references)], *references]


def _bar(mark: Mark, at, room: int) -> str:
    cells = [" "] * room
    if isfinite(mark.low) and isfinite(mark.high):
        first, last = at(mark.low), at(mark.high)
        cells[first : last + 1] = ["-"] * (last - first + 1)
        cells[first] = cells[last] = "|"
    if isfinite(mark.mean):
        middle = at(mark.mean)
        if mark.reference:
            middle = min(middle, room - 2)
            cells[middle : middle + 2] = "<>"
        else:
            cells[middle] = "o"
    return "".join(cells)


def _ticks(title: str, ticks: np.ndarray, at, lead: int, room: int) -> str:
    line = f"{_cut(title, lead - 2):{lead}}" + " " * (room + 4)
    cells = list(line)
    for tick in ticks:
        text = f"{tick:g}"
        start = lead + at(tick) - len(text) // 2
        cells[start : start + len(text)] = text
    return "".join(cells).rstrip()


def _step(span: float, room: int) -> float:
    """The finest of 1, 2, 5, 10, ... for which numbers on the scale do not touch."""
    most = max(room // 8, 2)
    rough = max(span, 0.1) / most
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(s * power for s in (1, 2, 5, 10) if s * power >= rough))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
