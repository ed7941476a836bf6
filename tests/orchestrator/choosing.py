"""Candidates written by hand, and selectors that do as a function does."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.selectors import Candidate, History


def candidates(tasks: np.ndarray | None = None, **scores: Iterable[float]) -> list[Candidate]:
    """One of epoch 7 for each position of scores, with novel accuracies of tasks ``[n, T]``."""
    given: list[Candidate] = []
    for number, values in enumerate(zip(*scores.values(), strict=True)):
        columns: dict[str, Any] = {m: [value] for m, value in zip(scores, values, strict=True)}
        if tasks is not None:
            columns |= {"tasks": {"novel": tasks[number][None]}}
        history = History.from_arrays(epochs=[7], **columns)
        given.append(Candidate(f"t{number}", {}, 7, history))
    return given


def selecting(kind: type, select: Callable[[Any], Any], *needs: str, **attributes: Any) -> Any:
    """A selector of a kind, called ``made``, that chooses by a function of what it is given."""
    chooses = {"select": lambda self, given: select(given)}
    body = {"name": "made", "needs": frozenset(needs or ["val"]), **chooses, **attributes}
    return type("Made", (kind,), body)()
