"""Whose mistake it is: the sweep file's, or that of a ``--set`` which replaced its values."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError


@contextmanager
def blaming(where: str, overrides: Sequence[str], methods: Mapping[str, Any]) -> Iterator[None]:
    """Name the source of the value in every ConfigError that is raised in the block.

    A value at or below an overridden key comes from ``--set``. One above it is the work of both.

    Args:
        where: the sweep file.
        overrides: the ``KEY=VALUE`` texts that were laid over it.
        methods: the file's ``methods``, with the overrides: what a method sets itself does not come
            from the defaults.

    Raises:
        ConfigError: as in the block; its ``where`` names the source.
    """
    try:
        yield
    except ConfigError as failure:
        if failure.where not in ("", where):
            raise
        keys = [text.partition("=")[0].strip().split(".") for text in overrides]
        path = failure.path.split(".") if failure.path else []
        source = _source(where, path, keys, methods)
        raise ConfigError(source, failure.path, failure.problem) from None


def _source(
    where: str, path: list[str], keys: Sequence[list[str]], methods: Mapping[str, Any]
) -> str:
    places = [path, *_in_defaults(path, methods)]
    pairs = [(place, key) for place in places for key in keys]
    if any(place[: len(key)] == key for place, key in pairs):
        return "--set"
    if any(key[: len(place)] == place for place, key in pairs):
        return f"{where} with --set"
    return where


def _in_defaults(path: list[str], methods: Mapping[str, Any]) -> list[list[str]]:
    """Where a method's value was written if the method does not set it: in ``defaults``."""
    if path[:1] != ["methods"] or len(path) < 3:
        return []
    place: Any = methods.get(path[1], {})
    for part in path[2:]:
        if not isinstance(place, Mapping) or part not in place:
            return [["defaults", *path[2:]]]
        place = place[part]
    return []
