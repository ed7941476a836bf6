"""A method's settings laid over the defaults that all methods share."""

from collections.abc import Mapping
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
