"""Axes: ``{grid: [...]}`` and sampled values standing in place of any value of a method."""

import itertools
import math
import zlib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError

SAMPLED = ("loguniform", "uniform", "choice")
KINDS = ("grid", *SAMPLED)


def expand(
    tree: Mapping[str, Any], samples: int | None, seed: int, where: str, path: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every configuration that a method's tree stands for, in a fixed order.

    Grids multiply; the sampled axes are drawn together ``samples`` times and multiply the grids.
    A sampled value depends on the seed, its key path and its number alone, so that adding an axis
    or raising ``samples`` keeps what was drawn before.

    Args:
        tree: a method's settings, with axes in place of values.
        samples: draws of the sampled axes; needed when there are any.
        seed: the sweep's seed.
        where: the file, for messages.
        path: the method's key path, for messages.

    Yields:
        ``(axis values by dotted path, settings with the axes replaced)``.

    Raises:
        ConfigError: an empty grid, a repeated value, a bad range, or ``samples`` missing.
    """
    found = _checked(tree, samples, where, path)
    grids = [(keys, values) for keys, kind, values in found if kind == "grid"]
    sampled = [axis for axis in found if axis[1] in SAMPLED]
    for combination in itertools.product(*(values for _, values in grids)):
        for number in range(samples or 1 if sampled else 1):
            chosen = dict(zip((keys for keys, _ in grids), combination, strict=True))
            chosen |= {k: _draw(kind, v, seed, k, number) for k, kind, v in sampled}
            ordered = {keys: chosen[keys] for keys, _, _ in found}
            yield {".".join(k): v for k, v in ordered.items()}, _replaced(tree, ordered, ())


def sizes(tree: Mapping[str, Any], samples: int | None, where: str, path: str) -> dict[str, int]:
    """How many values each grid has, by dotted path; ``samples`` is that of the sampled axes.

    Their product is how many configurations ``expand`` yields. Arguments and errors are its.
    """
    found = _checked(tree, samples, where, path)
    counts = {".".join(keys): len(values) for keys, kind, values in found if kind == "grid"}
    return counts | ({"samples": samples or 1} if len(counts) < len(found) else {})


def _checked(
    tree: Mapping[str, Any], samples: int | None, where: str, path: str
) -> list[tuple[tuple[str, ...], str, Any]]:
    """The axes as (keys, kind, values), each checked."""
    found = list(_axes(tree, (), where, path))
    for keys, kind, values in found:
        _check(kind, values, where, ".".join((path, *keys)))
    sampled = next((axis for axis in found if axis[1] in SAMPLED), None)
    if sampled and samples is None:
        problem = f"'{sampled[1]}' is drawn at random: say how often with a top-level 'samples:'"
        raise ConfigError(where, ".".join((path, *sampled[0])), problem)
    return found


def _axes(
    tree: Mapping[str, Any], prefix: tuple[str, ...], where: str, path: str
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    for key, value in tree.items():
        if not isinstance(value, Mapping):
            continue
        kind = axis_kind(value)
        if kind is None and any(part in KINDS for part in value):
            problem = f"an axis stands alone, without other keys: {dict(value)}"
            raise ConfigError(where, ".".join((path, *prefix, str(key))), problem)
        if kind:
            yield (*prefix, str(key)), kind, value[kind]
        else:
            yield from _axes(value, (*prefix, str(key)), where, path)


def axis_kind(value: Any) -> str | None:
    """``grid``, ``loguniform``, ... if a value is an axis, else None."""
    if isinstance(value, Mapping) and len(value) == 1:
        (key,) = value
        return key if key in KINDS else None
    return None


def _check(kind: str, values: Any, where: str, path: str) -> None:
    if kind in ("grid", "choice"):
        if not isinstance(values, list) or not values:
            problem = f"a {kind} needs a list of at least one value, not {values!r}"
            raise ConfigError(where, path, problem)
        if _repeats(values):
            raise ConfigError(where, path, f"the {kind} repeats a value: {values}")
        return
    ends = values if isinstance(values, list) and len(values) == 2 else [math.nan] * 2
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    lowest = 0.0 if kind == "loguniform" else -math.inf
    if not numbers or not lowest < ends[0] < ends[1] < math.inf:
        above = " with 0 < low" if kind == "loguniform" else ""
        problem = f"{kind} needs [low, high] with low < high{above}, not {values!r}"
        raise ConfigError(where, path, problem)


def _repeats(values: list[Any]) -> bool:
    plain = [value for value in values if isinstance(value, Hashable)]
    others = [value for value in values if not isinstance(value, Hashable)]
    return len(set(plain)) < len(plain) or any(v in others[:i] for i, v in enumerate(others))


def _draw(kind: str, values: list[Any], seed: int, keys: tuple[str, ...], number: int) -> Any:
    entropy = [seed, zlib.crc32(".".join(keys).encode()), number]
    rng = np.random.default_rng(entropy)
    if kind == "choice":
        return values[rng.integers(len(values))]
    low, high = values
    if kind == "uniform":
        return float(rng.uniform(low, high))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _replaced(
    tree: Mapping[str, Any], chosen: Mapping[tuple[str, ...], Any], prefix: tuple[str, ...]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in tree.items():
        here = (*prefix, str(key))
        if here in chosen:
            result[key] = chosen[here]
        elif isinstance(value, Mapping):
            result[key] = _replaced(value, chosen, here)
        else:
            result[key] = value
    return result
