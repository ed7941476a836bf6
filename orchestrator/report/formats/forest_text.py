"""A forest plot drawn with characters."""

import textwrap
from collections.abc import Iterable, Sequence
from math import isfinite

import numpy as np
from rich.cells import cell_len, set_cell_size

from fsl_sweep.orchestrator.report.document.blocks import Forest, Mark, grouped
from fsl_sweep.orchestrator.text.printed import one_line

LEAST_SCALE = 20
"""Characters of the narrowest scale."""

MOST_LINES = 24
_EACH = {1: 10, 2: 3}
"""How many lines a method has where only the answer is shown, by the number of methods."""

_SEVERAL = 12
"""So many methods have two lines, and more of them one."""

_GROUP, _NAME = 32, 32
_BESIDE = 13
"""Characters of a line beside group, name and scale."""


def drawn(forest: Forest, width: int, short: bool = False) -> list[str]:
    """The plot as lines of at most ``width`` characters, with a legend; at least 60.

    Where it is ``short``, of each group the first marks, and as many groups as fit.
    """
    marks = _shortened(forest.marks) if short else forest.marks
    values = [value for mark in marks for value in _shown(mark)]
    known = np.array([value for value in values if isfinite(value)])
    if not len(known):
        return []
    group, name = _widths(marks, width)
    scale = _Scale(np.clip(known, forest.least, 100), width - group - name - _BESIDE)
    lead = group + name + 6
    lines = [_padded(_cut(forest.title, lead - 2), lead) + scale.ticks()]
    before = None
    for mark in marks:
        heading = "" if mark.group == before else _cut(mark.group, group)
        before = mark.group
        words = f"  {_padded(heading, group)}  {_padded(_cut(mark.name, name), name)}  "
        mean = f"{mark.mean:z5.{min(max(scale.decimals, 1), 2)}f}"[:5]  # 100.0 has no room for two
        lines.append(f"{words}{scale.bar(mark)}  {mean}")
    groups, there = grouped(forest.marks, _group), grouped(marks, _group)
    left = len(groups) - len(there) or (len(forest.marks) - len(marks) if not groups[1:] else 0)
    if left:
        lines.append(f"  ... and {left} more")
    legend = textwrap.wrap("   ".join(_legend(marks)), width - 2)
    return [line.rstrip() for line in (*lines, *(f"  {line}" for line in legend))]


def _group(mark: Mark) -> str:
    return mark.group


def _shown(mark: Mark) -> Sequence[float]:
    """The values that a mark is drawn from: of a reference its mean only, which is no result."""
    return [mark.mean] if mark.reference else [mark.low, mark.mean, mark.high, *mark.seeds]


def _shortened(marks: Sequence[Mark]) -> list[Mark]:
    groups = grouped(marks, _group)
    each = _EACH.get(len(groups), 2 if len(groups) <= _SEVERAL else 1)
    return [mark for own in groups[:MOST_LINES] for mark in _first(own, each)]


def _first(group: Sequence[Mark], most: int) -> list[Mark]:
    """The first ones, and the first reference if there is room for two."""
    references = [mark for mark in group if mark.reference]
    usual = [mark for mark in group if not mark.reference]
    kept = references[:1] if most > 1 and usual else []
    return [*(usual or references)[: most - len(kept)], *kept]


def _widths(marks: Sequence[Mark], width: int) -> tuple[int, int]:
    """Characters of groups and of names, both shortened where the scale needs the room."""
    group = min(max(cell_len(one_line(mark.group)) for mark in marks), _GROUP)
    name = min(max(cell_len(mark.name) for mark in marks), _NAME)
    room = max(width - LEAST_SCALE - _BESIDE, 12)
    if group + name > room:
        group = min(group, max(room // 2, room - name))
        name = room - group
    return group, name


def _legend(marks: Sequence[Mark]) -> Iterable[str]:
    usual = [mark for mark in marks if not mark.reference]
    if usual:
        yield "o mean"
    if any(mark.seeds for mark in usual):
        yield "x each seed"
    if any(isfinite(mark.low) for mark in usual):
        yield "|--| interval"
    if len(usual) < len(marks):
        yield "<> oracle: reads novel scores"


class _Scale:
    """Values in percent as places on a line of ``room`` characters.

    It holds all of ``known``: an interval that goes on is cut there, and has no end.
    """

    def __init__(self, known: np.ndarray, room: int) -> None:
        self.room, self.step = room, _step(float(np.ptp(known)), room)
        self.low = self.step * np.floor(known.min() / self.step + 1e-9)
        self.decimals = max(0, -int(np.floor(np.log10(self.step) + 1e-9)))
        self.high = max(self.step * np.ceil(known.max() / self.step - 1e-9), self.low + self.step)

    def at(self, value: float) -> int:
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * (self.room - 1))

    def bar(self, mark: Mark) -> str:
        """A mark on the line."""
        cells = [" "] * self.room
        if mark.reference:
            start = min(self.at(mark.mean), self.room - 2)
            cells[start : start + 2] = "<>"
            return "".join(cells)
        if isfinite(mark.low) and isfinite(mark.high):
            first, last = self.at(mark.low), self.at(mark.high)
            cells[first : last + 1] = ["-"] * (last - first + 1)
            for end, value in ((first, mark.low), (last, mark.high)):
                if self.low - 1e-9 <= value <= self.high + 1e-9:
                    cells[end] = "|"
        for value in mark.seeds:
            cells[self.at(value)] = "x"
        cells[self.at(mark.mean)] = "o"
        return "".join(cells)

    def ticks(self) -> str:
        """The numbers over the line, each in the middle of its place; longer by half of one."""
        cells = [" "] * (self.room + 4)
        for number in range(round((self.high - self.low) / self.step) + 1):
            tick = self.low + number * self.step
            text = f"{tick:z.{self.decimals}f}"
            start = max(self.at(tick) - len(text) // 2, 0)
            cells[start : start + len(text)] = text
        return "".join(cells)


def _step(span: float, room: int) -> float:
    """The finest of 1, 2, 5, 10, ... for which numbers on the scale do not touch."""
    most = max(room // 8, 2)
    rough = max(span, 0.1) / most
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(s * power for s in (1, 2, 5, 10) if s * power >= rough))


def _cut(text: str, most: int) -> str:
    """The text on one line in at most so many columns, its middle left out: its end may say more.

    The end of a method's name may be how many of its seeds are done.
    """
    text = one_line(text)
    if cell_len(text) <= most:
        return text
    tail = (most - 2) // 2
    end = text[-tail:] if tail else ""
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, most - 2 - cell_len(end)).rstrip() + ".." + end


def _padded(text: str, width: int) -> str:
    return set_cell_size(text, width)
