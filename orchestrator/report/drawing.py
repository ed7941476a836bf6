"""What a figure shows, before anyone draws it: panels with axes, lines, marks and signs.

One description serves the drawings of the HTML report and the pictures of TensorBoard.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from fsl_sweep.orchestrator.printed import one_line
from fsl_sweep.orchestrator.report.style import COLOURS

SIGN_GAP = 0.032
"""Of an axis: signs that are nearer than this cover each other."""

_NARROW, _WIDE = " ijltfrI.,:;'|!()[]{}/-_", "mwMW@%&#+=<>~^"


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, which differ, with a label."""

    low: float
    high: float
    label: str

    @classmethod
    def around(cls, values: Iterable[float], label: str, margin: float = 0.05) -> "Axis":
        """An axis that holds all finite values, with some air; [0, 1] where there are none."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        air = (high - low) * margin or 0.5
        return cls(low - air, high + air, label)

    def ticks(self) -> list[float]:
        """Four to nine round values on the axis (the least number that has a round step)."""
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [k * step for k in range(first, last + 1)]

    def share(self, value: float) -> float:
        """How far along the axis a value lies: 0 at ``low``, 1 at ``high``."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Rule:
    """A line through the whole plane, upright or level: ``zero``, or a dashed one ``at`` a value.

    It stands at ``value`` of the axis that it crosses.
    """

    value: float
    kind: Literal["zero", "at"]
    upright: bool = False


@dataclass(frozen=True)
class Line:
    """Points joined in order, broken where one is no number.

    ``number`` picks the colour; None is the dashed line of a front.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    number: int | None


@dataclass(frozen=True)
class Mark:
    """One point: ``number`` picks colour and shape, ``kept`` outlines it, ``name`` describes it."""

    x: float
    y: float
    number: int
    kept: bool = False
    name: str = ""


@dataclass(frozen=True)
class Sign:
    """A character above the plane, in one of its free rows."""

    x: float
    row: int
    text: str


Part = Rule | Line | Mark | Sign


@dataclass(frozen=True)
class Panel:
    """A titled plane; ``top`` rows above it are kept free for signs."""

    title: str
    x: Axis
    y: Axis
    parts: Sequence[Part]
    top: int = 0


@dataclass(frozen=True)
class Figure:
    """Panels with a caption and a legend in common.

    Attributes:
        name: which of the report's figures.
        caption: what it shows, in sentences.
        names: what the colours stand for, by their number.
        panels: at least one.
        shaped: whether the legend shows the shapes of marks.
        signs: what the characters above the planes stand for, by name.
    """

    name: str
    caption: str
    names: Sequence[str]
    panels: Sequence[Panel]
    shaped: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)


def colour(number: int) -> int:
    """Which of the colours a number has; they begin again after the last."""
    return number % COLOURS


def tick_text(value: float) -> str:
    """A tick's value without the noise of floating point."""
    return f"{round(value, 9) + 0.0:g}"


def cut(text: str, widest: float) -> str:
    """A line that ends in an ellipsis where it would be wider, in pixels of bold letters of 12."""
    text = one_line(text)
    ends = list(accumulate(map(_advance, text)))
    if not ends or ends[-1] <= widest:
        return text
    return text[: sum(end <= widest - _advance("…") for end in ends)] + "…"


def _advance(character: str) -> float:
    """About how wide a character is: rather more than less."""
    if character in _NARROW:
        return 5.4
    if character in _WIDE or not character.isascii():
        return 12.2
    return 9.4 if character.isupper() else 8.5
