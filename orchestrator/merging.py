"""A method's settings: laid over the defaults, and what tells its configurations apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fsl_sweep.orchestrator.axes import axis_kind

# Sections whose keys a method overrides one by one. Others, a schedule above all, are replaced
# whole: half of one schedule and half of another would be a third that nobody wrote.
_MERGED = ("learner", "backbone", "optimizer", "train")


def merged_settings(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A method's settings over the defaults; learner, backbone and the like key by key."""
    result = dict(defaults)
    for key, value in own.items():
        shared = defaults.get(key)
        result[key] = value
        if key in _MERGED and isinstance(shared, Mapping) and isinstance(value, Mapping):
            result[key] = _mixed(shared, value)
    return result


def _mixed(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A section's keys over the shared ones, unless they belong to different parts.

    Options of one learner or backbone mean nothing to another, and an axis stands for whole
    values.
    """
    another = own.get("name", shared.get("name")) != shared.get("name")
    if another or axis_kind(shared) or axis_kind(own):
        return dict(own)
    return {**shared, **own}


def told_apart(configurations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The axis values of each configuration, as a report shows them.

    An axis may stand for a whole section, such as ``train: {grid: [{way: 5, ...}, ...]}``. It is
    shown by those of the section's keys that differ, each under its own dotted path.
    """
    flat = [dict(_leaves(axes)) for axes in configurations]
    keys = dict.fromkeys(key for one in flat for key in one)
    varied = {key for key in keys if any(one.get(key) != flat[0].get(key) for one in flat)}
    return [
        {key: value for key, value in one.items() if key in varied or key in axes}
        for one, axes in zip(flat, configurations, strict=True)
    ]


def _leaves(axes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for path, value in axes.items():
        if path in _MERGED and isinstance(value, Mapping):
            yield from ((f"{path}.{key}", inner) for key, inner in value.items())
        else:
            yield path, value
