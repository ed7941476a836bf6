"""Curves of one line of text, and marks that stand under their points."""

from collections.abc import Mapping, Sequence

import numpy as np

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-=+*#@"


def columns_of(count: int, width: int) -> np.ndarray:
    """The column of each of ``count`` points in a line of at most ``width``, int64 ``[count]``."""
    shown = min(count, width)
    return np.arange(count) * shown // max(count, 1)


def sparkline(values: np.ndarray, width: int, levels: str = BLOCKS) -> str:
    """Values ``[E]`` as at most ``width`` characters, from the lowest to the highest.

    Where there are more points than characters, a character shows the mean of its points. A
    character without a finite point is a space; a flat curve is drawn in the middle.
    """
    columns = columns_of(len(values), width)
    shown = np.full(min(len(values), width), np.nan)
    for column in range(len(shown)):
        points = values[columns == column]
        if np.isfinite(points).any():
            shown[column] = points[np.isfinite(points)].mean()
    finite = shown[np.isfinite(shown)]
    if len(finite) == 0:
        return " " * len(shown)
    low, span = finite.min(), np.ptp(finite)
    middle = len(levels) // 2
    return "".join(
        " "
        if np.isnan(v)
        else levels[round((v - low) / span * (len(levels) - 1)) if span else middle]
        for v in shown
    )


def letters(names: Sequence[str]) -> dict[str, str]:
    """One character for each name: its first letter that is free, else a digit."""
    taken: dict[str, str] = {}
    spare = iter("123456789abcdefghijklmnopqrstuvwxyz")
    for name in names:
        free = (c for c in name if c.isalnum() and c not in taken.values())
        taken[name] = next(free, "") or next(c for c in spare if c not in taken.values())
    return taken


def marks(
    picks: Mapping[str, int], epochs: np.ndarray, width: int, signs: Mapping[str, str]
) -> list[str]:
    """Lines that put each selector's sign under its pick.

    Picks of one column are stacked; those of the last one, where most tend to be, stand side by
    side from there on, beyond the curve.

    Args:
        picks: epoch by selector.
        epochs: recorded epochs, int64 ``[E]``.
        width: as given to ``sparkline``.
        signs: one character for each selector.
    """
    columns = columns_of(len(epochs), width)
    size = min(len(epochs), width)
    lines: list[list[str]] = []
    at_end = ""
    for name, epoch in picks.items():
        column = int(columns[int(np.searchsorted(epochs, epoch))])
        if column == size - 1:
            at_end += signs[name]
            continue
        free = next((line for line in lines if line[column] == " "), None)
        if free is None:
            free = [" "] * size
            lines.append(free)
        free[column] = signs[name]
    if at_end:
        lines = lines or [[" "] * size]
        lines[0][-1] = at_end
    return ["".join(line).rstrip() for line in lines]
