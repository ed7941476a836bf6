"""A method's settings, and axes in them: ``{grid: [...]}`` or a sampled value for any value."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.searchers.base import Axes, Axis
from fsl_sweep.orchestrator.searchers.random import draw

SAMPLED = ("loguniform", "uniform", "choice")
KINDS = ("grid", *SAMPLED)
# Sections whose keys a method overrides one by one. Others, such as a schedule, are replaced
# whole: a mixture of two schedules would be a third one.
_SECTIONS = ("learner", "backbone", "optimizer", "train")

_Axis = tuple[tuple[str, ...], Any, Any]
"""The keys that lead to an axis, its kind, and its values."""


def merged_settings(defaults: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    """Put a method's settings over the defaults; learner, backbone and the like key by key."""
    result = {**defaults, **method}
    for key in method.keys() & defaults.keys() & set(_SECTIONS):
        if isinstance(defaults[key], Mapping) and isinstance(method[key], Mapping):
            result[key] = _merged_section(defaults[key], method[key])
    return result


def _merged_section(shared: Mapping[str, Any], section: Mapping[str, Any]) -> dict[str, Any]:
    """Put a section's keys over the shared ones, unless it replaces them."""
    return dict(section) if replaces(shared, section) else {**shared, **section}


def replaces(shared: Mapping[str, Any], section: Mapping[str, Any]) -> bool:
    """Return whether a section replaces another whole, because they belong to different parts.

    Options of one learner or backbone mean nothing to another, and an axis has whole sections as
    its values.
    """
    another = section.get("name", shared.get("name")) != shared.get("name")
    return another or axis_kind(shared) is not None or axis_kind(section) is not None


def expand(
    tree: Mapping[str, Any], samples: int | None, seed: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Make every configuration of a method, in a fixed order.

    Grids multiply. The sampled axes are drawn together ``samples`` times and multiply the grids. A
    sampled value depends only on the seed, its key path and its number, so that adding an axis or
    raising ``samples`` keeps what was drawn before.

    Args:
        tree: a method's settings, with axes in place of values.
        samples: draws of the sampled axes; needed if there are any.
        seed: the sweep's seed.

    Yields:
        ``(axis values by dotted path, settings with the axes replaced)``.

    Raises:
        ConfigError: an empty grid, a repeated value, a bad range, or ``samples`` missing; its path
            begins below the method.
    """
    axes = _checked(tree, samples)
    grids = [(keys, values) for keys, kind, values in axes if kind == "grid"]
    draws = (samples or 1) if len(grids) < len(axes) else 1
    for combination in itertools.product(*(values for _, values in grids)):
        points = dict(zip((keys for keys, _ in grids), combination, strict=True))
        for number in range(draws):
            chosen = {
                ".".join(keys): points[keys]
                if kind == "grid"
                else draw(Axis(kind, values), seed, ".".join(keys), number)
                for keys, kind, values in axes
            }
            yield chosen, replaced(tree, chosen)


def axes_of(tree: Mapping[str, Any]) -> Axes:
    """Return the axes of a method by dotted path; a grid is a choice. Raises as ``expand``."""
    return {
        ".".join(keys): Axis("choice" if kind == "grid" else kind, values)
        for keys, kind, values in _checked(tree, samples=1)
    }


def sizes(tree: Mapping[str, Any], samples: int | None) -> dict[str, int]:
    """Count the values of each grid, by dotted path; with ``samples`` if there are sampled axes.

    Their product is the number of configurations that ``expand`` yields. Arguments and errors are
    those of ``expand``.
    """
    axes = _checked(tree, samples)
    counts = {".".join(keys): len(values) for keys, kind, values in axes if kind == "grid"}
    return counts | ({"samples": samples or 1} if len(counts) < len(axes) else {})


def shown_values(configurations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List the axis values of each configuration, as a report shows them.

    An axis may have whole sections as its values, such as ``train: {grid: [{way: 5, ...}, ...]}``.
    It is shown as those keys of the section that differ, each under its own dotted path.
    """
    flat = [dict(_leaves(axes)) for axes in configurations]
    keys = {key for leaves in flat for key in leaves}
    varied = {key for key in keys if any(leaves.get(key) != flat[0].get(key) for leaves in flat)}
    return [
        {key: value for key, value in leaves.items() if key in varied or key in axes}
        for leaves, axes in zip(flat, configurations, strict=True)
    ]


def _leaves(axes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for path, value in axes.items():
        if path in _SECTIONS and isinstance(value, Mapping):
            yield from ((f"{path}.{key}", inner) for key, inner in value.items())
        else:
            yield path, value


def axis_kind(value: Any) -> str | None:
    """Return ``grid``, ``loguniform``, ... if a value is an axis, else None."""
    if isinstance(value, Mapping) and len(value) == 1:
        (key,) = value
        return key if key in KINDS else None
    return None


def _checked(tree: Mapping[str, Any], samples: int | None) -> list[_Axis]:
    """Find the axes of a method, and check each."""
    axes = list(_axes(tree, ()))
    for keys, kind, values in axes:
        problem = _problem(kind, values)
        if problem is None and kind in SAMPLED and samples is None:
            problem = f"'{kind}' is drawn at random: set a top-level 'samples:' to how often"
        if problem:
            raise ConfigError("", ".".join(keys), problem)
    return axes


def _axes(tree: Mapping[str, Any], prefix: tuple[str, ...]) -> Iterator[_Axis]:
    for key, value in tree.items():
        if not isinstance(value, Mapping):
            continue
        keys = (*prefix, str(key))
        if kind := axis_kind(value):
            yield keys, kind, value[kind]
        elif any(part in KINDS for part in value):
            problem = f"an axis has no other keys beside it: {dict(value)}"
            raise ConfigError("", ".".join(keys), problem)
        else:
            yield from _axes(value, keys)


def _problem(kind: str, values: Any) -> str | None:
    """Say what is wrong with an axis, or None."""
    if kind in ("grid", "choice"):
        if not isinstance(values, list) or not values:
            return f"a {kind} needs a list of at least one value, not {values!r}"
        return f"the {kind} repeats a value: {values}" if _repeats(values) else None
    ends = values if isinstance(values, list) and len(values) == 2 else [math.nan] * 2
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    lowest = 0.0 if kind == "loguniform" else -math.inf
    if numbers and lowest < ends[0] < ends[1] < math.inf:
        return None
    above = " with 0 < low" if kind == "loguniform" else ""
    return f"{kind} needs [low, high] with low < high{above}, not {values!r}"


def _repeats(values: list[Any]) -> bool:
    plain = [value for value in values if isinstance(value, Hashable)]
    others = [value for value in values if not isinstance(value, Hashable)]
    return len(set(plain)) < len(plain) or any(v in others[:i] for i, v in enumerate(others))


def replaced(
    tree: Mapping[str, Any], chosen: Mapping[str, Any], prefix: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Put values in the place of axes, by dotted path."""
    result: dict[str, Any] = {}
    for key, value in tree.items():
        keys = (*prefix, str(key))
        if (path := ".".join(keys)) in chosen:
            result[key] = chosen[path]
        else:
            result[key] = replaced(value, chosen, keys) if isinstance(value, Mapping) else value
    return result
