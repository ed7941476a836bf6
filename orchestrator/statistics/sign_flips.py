"""Which of several columns differ, from a few independent rows: all pairs at once, by sign flips.

Where nothing differs, a row of differences is as likely as its negative. So the rows at hand are
one of 2^(rows - 1) equally likely patterns of signs (a pattern and its opposite are the same),
and the largest difference of all pairs in the others shows how large it is by chance. Neither
normal differences nor equal variances are assumed, and columns may depend on each other.

Bounds for comparisons with the best (Hsu, "Multiple Comparisons: Theory and Methods", 1996) need
one best column; if all are equally good, the best was found by these same numbers. Bounds for all
pairs hold for it as well.

Source: Westfall and Young, "Resampling-Based Multiple Testing" (1993), sections 2.3 and 2.6.
"""

import numpy as np
from numpy.typing import ArrayLike

LEAST_ROWS = 6
"""Fewer rows have at most 16 patterns of signs: no p value of theirs is below 5 %."""

_EXACT = 16
_DRAWN = 9_999
_AT_ONCE = 2_000_000
"""How many sums are held in memory at once."""


def pairwise_p_values(values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return two-sided p values of the differences between columns of ``values [rows, columns]``.

    The statistic of a pair is |sum of differences| / sqrt(sum of their squares), which orders
    patterns of signs as Student's t does. Up to 16 rows all patterns are counted, beyond that
    10,000 of them, always the same.

    Returns:
        Symmetric ``[columns, columns]`` with ones on the diagonal: each pair as if it were the only
        one, and after the correction over all pairs, which keeps the chance of any false rejection
        below the level (single-step maximum).

    Raises:
        ValueError: there are not two dimensions, no row, or a value that is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or len(table) == 0 or not np.isfinite(table).all():
        raise ValueError(f"Rows and columns of finite numbers are needed, not {table.shape}.")
    single, together = np.ones((2, table.shape[1], table.shape[1]))
    first, second = np.triu_indices(table.shape[1], 1)
    if len(first):
        apart = table[:, first] - table[:, second]  # [rows, pairs]
        size = np.sqrt((apart**2).sum(axis=0))
        apart = apart / np.where(size > 0, size, 1.0)
        patterns = _patterns(len(table))  # the first is the rows at hand
        at_hand, counts = None, np.zeros((2, len(first)))
        for part in np.array_split(patterns, 1 + len(patterns) * len(first) // _AT_ONCE):
            ratios = np.abs(part @ apart)
            if at_hand is None:  # a little less, so that equal sums in another order are equal
                at_hand = ratios[0] - 1e-9
            largest = ratios.max(axis=1, keepdims=True)
            counts += (ratios >= at_hand).sum(axis=0), (largest >= at_hand).sum(axis=0)
        for p_values, count in zip((single, together), counts, strict=True):
            p_values[first, second] = p_values[second, first] = count / len(patterns)
    return single, together


def _patterns(rows: int) -> np.ndarray:
    """Return signs ``[patterns, rows]``; the first pattern, and the first row of all, is +1."""
    if rows <= _EXACT:
        bits = np.arange(2 ** (rows - 1))[:, None] >> np.arange(rows)
        # The first row has the bit that no number of this range has.
        return 1.0 - 2.0 * (np.roll(bits, 1, axis=1) & 1)
    drawn = np.random.default_rng(0).integers(0, 2, (_DRAWN, rows))
    return np.concatenate([np.ones((1, rows)), 1.0 - 2.0 * drawn])
