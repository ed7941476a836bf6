"""What each axis of the grid does to a method: accuracy over its levels, and its importance."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.tradeoff import TradeOffPoint
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics.main_effects import MainEffect, main_effect


@dataclass(frozen=True)
class Response:
    """A method over one axis of its grid.

    Attributes:
        method, axis: which ones; the axis by its dotted key.
        snapshot: the selector that chose the snapshot of each trial.
        levels: the axis' values: numbers ascending, others in plan order.
        values: of each level, accuracy of each configuration and seed, by what methods are
            compared by, in [0, 1].
        effect: the axis' main effect on all of them; None where the grid is not full.
    """

    method: str
    axis: str
    snapshot: str
    levels: tuple[Any, ...]
    values: tuple[tuple[float, ...], ...]
    effect: MainEffect | None

    @property
    def numeric(self) -> bool:
        """Return whether levels are numbers, with distances between them."""
        return all(map(_is_number, self.levels))

    @property
    def logarithmic(self) -> bool:
        """Return whether the levels are positive numbers over a decade or more."""
        return self.numeric and self.levels[0] > 0 and self.levels[-1] >= 10 * self.levels[0]


def responses_of(report: RunContent) -> tuple[Response, ...]:
    """Return every axis with two levels or more, by method in plan order.

    Snapshots are those of the snapshot selector that the answer speaks of.
    """
    if report.lead is None:
        return ()
    snapshot = report.lead.snapshot
    points = next((t.points for t in report.tradeoffs if snapshot in t.snapshots), ())
    responses: list[Response] = []
    for method in dict.fromkeys(point.method for point in points):
        of_method = [point for point in points if point.method == method]
        for axis in of_method[0].hyperparameters:
            if len({_key(point, axis) for point in of_method}) > 1:
                responses.append(_response(of_method, axis, snapshot, report.base_weight))
    return tuple(responses)


def _response(
    points: Sequence[TradeOffPoint], axis: str, snapshot: str, base_weight: float | None
) -> Response:
    levels: dict[str, Any] = {_key(p, axis): p.hyperparameters.get(axis) for p in points}
    if all(map(_is_number, levels.values())):
        levels = dict(sorted(levels.items(), key=lambda level: level[1]))
    values: dict[str, list[float]] = {key: [] for key in levels}
    for point in points:
        values[_key(point, axis)] += [_accuracy(pair, base_weight) for pair in point.seeds]
    pairs = [(value, key) for key, of_level in values.items() for value in of_level]
    full = _is_full_grid([point.hyperparameters for point in points])
    return Response(
        method=points[0].method,
        axis=axis,
        snapshot=snapshot,
        levels=tuple(levels.values()),
        values=tuple(map(tuple, values.values())),
        effect=main_effect([v for v, _ in pairs], [key for _, key in pairs]) if full else None,
    )


def _is_full_grid(configurations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether every combination of the levels of all axes is there, once."""
    axes = list(dict.fromkeys(axis for values in configurations for axis in values))
    rows = [tuple(_written(values.get(axis)) for axis in axes) for values in configurations]
    return sorted(rows) == sorted(product(*({*column} for column in zip(*rows, strict=True))))


def _accuracy(pair: tuple[float, float], base_weight: float | None) -> float:
    base, novel = pair
    return novel if base_weight is None else float(mixed(base_weight, base, novel))


def _key(point: TradeOffPoint, axis: str) -> str:
    return _written(point.hyperparameters.get(axis))


def _written(value: Any) -> str:
    """Return the same text for equal values, and only for those: 1 is 1.0, and not true."""
    number = float(value) if _is_number(value) else value
    return json.dumps(number, sort_keys=True, default=str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
