"""A forest plot drawn with characters."""

import textwrap
from collections.abc import Iterable, Sequence
from math import isfinite
from operator import attrgetter

import numpy as np
from rich.cells import cell_len, set_cell_size

from fsl_sweep.orchestrator.report.document.blocks import Bar, Forest, grouped
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
    """Return the plot as lines of at most ``width`` characters, with a legend; at least 60.

    Where it is ``short``, of each group the first bars, and as many groups as fit.
    """
    bars = _shortened(forest.bars) if short else forest.bars
    on = [bar for bar in bars if bar.group not in forest.off]
    ends = np.array([value for bar in on for value in _drawn(bar) if isfinite(value)])
    if not len(ends):
        return []
    group, name = _widths(bars, width)
    scale = _Scale(np.clip(ends, forest.least, 100), width - group - name - _BESIDE)
    indent = group + name + 6
    lines = [_padded(_cut(forest.title, indent - 2), indent) + scale.ticks()]
    before = None
    for bar in bars:
        heading = "" if bar.group == before else _cut(bar.group, group)
        before = bar.group
        words = f"  {_padded(heading, group)}  {_padded(_cut(bar.names[0], name), name)}  "
        mean = f"{bar.mean:z5.{min(max(scale.decimals, 1), 2)}f}"[:5]  # 100.0 has no room for two
        lines.append(f"{words}{scale.line(bar)}  {mean}")
    every, shown = (grouped(of, attrgetter("group")) for of in (forest.bars, bars))
    left = len(every) - len(shown) or (len(forest.bars) - len(bars) if not every[1:] else 0)
    if left:
        lines.append(f"  ... and {left} more")
    legend = textwrap.wrap("   ".join(_legend(bars, forest.each)), width - 2)
    return [line.rstrip() for line in (*lines, *(f"  {line}" for line in legend))]


def _each(bar: Bar) -> Sequence[float]:
    """Return the single values that are shown: two, which have no useful interval."""
    return bar.values if len(bar.values) == 2 else ()


def _drawn(bar: Bar) -> Sequence[float]:
    """Return the values to draw: of a reference its mean only, which is no result."""
    return [bar.mean] if bar.reference else [bar.low, bar.mean, bar.high, *_each(bar)]


def _shortened(bars: Sequence[Bar]) -> list[Bar]:
    groups = grouped(bars, attrgetter("group"))
    each = _EACH.get(len(groups), 2 if len(groups) <= _SEVERAL else 1)
    return [bar for group in groups[:MOST_LINES] for bar in _first(group, each)]


def _first(group: Sequence[Bar], most: int) -> list[Bar]:
    """Return the first bars, and the first reference if there is room for two."""
    references = [bar for bar in group if bar.reference]
    usual = [bar for bar in group if not bar.reference]
    kept = references[:1] if most > 1 and usual else []
    return [*(usual or references)[: most - len(kept)], *kept]


def _widths(bars: Sequence[Bar], width: int) -> tuple[int, int]:
    """Return characters of groups and of names, shortened where the scale needs the room."""
    group = min(max(cell_len(one_line(bar.group)) for bar in bars), _GROUP)
    name = min(max(cell_len(bar.names[0]) for bar in bars), _NAME)
    room = max(width - LEAST_SCALE - _BESIDE, 12)
    if group + name > room:
        group = min(group, max(room // 2, room - name))
        name = room - group
    return group, name


def _legend(bars: Sequence[Bar], each: str) -> Iterable[str]:
    usual = [bar for bar in bars if not bar.reference]
    if usual:
        yield "o mean"
    if any(map(_each, usual)):
        yield f"x each {each}"
    if any(isfinite(bar.low) for bar in usual):
        yield "|--| interval"
    if len(usual) < len(bars):
        yield "<> oracle: reads novel scores"


class _Scale:
    """Values in percent as places on a line of ``room`` characters.

    It holds all of ``ends``: an interval that goes on is cut there, and has no end.
    """

    def __init__(self, ends: np.ndarray, room: int) -> None:
        self.room, self.step = room, _step(float(np.ptp(ends)), room)
        self.low = self.step * np.floor(ends.min() / self.step + 1e-9)
        self.decimals = max(0, -int(np.floor(np.log10(self.step) + 1e-9)))
        self.high = max(self.step * np.ceil(ends.max() / self.step - 1e-9), self.low + self.step)

    def at(self, value: float) -> int:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * (self.room - 1))

    def line(self, bar: Bar) -> str:
        """Return a bar drawn on the line."""
        cells = [" "] * self.room
        if bar.mean < self.low - 1e-9:
            return "<".ljust(self.room)
        if bar.reference:
            start = min(self.at(bar.mean), self.room - 2)
            cells[start : start + 2] = "<>"
            return "".join(cells)
        if isfinite(bar.low) and isfinite(bar.high):
            first, last = self.at(bar.low), self.at(bar.high)
            cells[first : last + 1] = ["-"] * (last - first + 1)
            for end, value in ((first, bar.low), (last, bar.high)):
                if self.low - 1e-9 <= value <= self.high + 1e-9:
                    cells[end] = "|"
        for value in _each(bar):
            cells[self.at(value)] = "x"
        cells[self.at(bar.mean)] = "o"
        return "".join(cells)

    def ticks(self) -> str:
        """Return the numbers over the line, each in the middle of its place."""
        cells = [" "] * (self.room + 4)  # the last may stand out by half of it
        for number in range(round((self.high - self.low) / self.step) + 1):
            tick = self.low + number * self.step
            text = f"{tick:z.{self.decimals}f}"
            start = max(self.at(tick) - len(text) // 2, 0)
            cells[start : start + len(text)] = text
        return "".join(cells)


def _step(span: float, room: int) -> float:
    """Return the finest of 1, 2, 5, 10, ... for which numbers on the scale do not touch."""
    most = max(room // 8, 2)
    rough = max(span, 0.1) / most
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(s * power for s in (1, 2, 5, 10) if s * power >= rough))


def _cut(text: str, most: int) -> str:
    """Cut the middle of a text out, on one line in at most so many columns.

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
