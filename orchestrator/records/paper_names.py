"""The papers' names of selectors and measures, accepted wherever a name is typed.

They are replaced by ours at once, so that plans, digests and reports have one name for each.

Source: "Two Sides of Meta-Learning Evaluation", sections 5.1, 5.2 and F.1.
"""

from collections.abc import Sequence
from typing import Literal

ClassSetName = Literal["novel", "val+novel", "unused", "novel+unused", "base", "all"]
"""The large class set, C_L in the paper, by the parts of the data that it is made of."""

_BOTH = {"basegen": "base", "valgen": "val"}
_SELECTORS = {"eot": "last", "end-of-training": "last", **_BOTH}
_MEASURES = {"novelgen": "novel", **_BOTH}

TEST_MEASURE = "novel"
"""Never suggested for a misspelt name: nobody should choose or compare by it by accident."""


def selector_name(typed: str) -> str:
    """Return our name of a selector; other names, and those with arguments, stay as they are."""
    return _SELECTORS.get(_plain(typed), typed)


def selector_names(typed: Sequence[str]) -> list[str]:
    """Return our names of selectors.

    Raises:
        ValueError: two of them are the same.
    """
    ours = [selector_name(name) for name in typed]
    for number, name in enumerate(ours):
        if name in ours[:number]:
            both = dict.fromkeys((typed[ours.index(name)], typed[number], name))
            quoted = " and ".join(f"'{name}'" for name in both)
            same = f"; {quoted} are the same" if len(both) > 1 else ""
            raise ValueError(f"'{name}' is given twice{same}")
    return ours


def measure_name(typed: str) -> str:
    """Return our name of a measure; other names stay as they are."""
    return _MEASURES.get(_plain(typed), typed)


def is_test_measure(typed: str) -> bool:
    """Return whether a name means the accuracy on novel tasks."""
    return measure_name(_plain(typed)) == TEST_MEASURE


def _plain(typed: str) -> str:
    return "-".join(typed.lower().replace("_", " ").replace("-", " ").split())
