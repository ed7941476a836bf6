"""Paths in a sweep file: where the data and the weights are that it names."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.sweepfile.axes import axis_kind

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def located(tree: dict[str, Any], folder: Path, overridden: Collection[str]) -> list[str]:
    """Make the paths of a sweep file absolute, in ``tree``.

    Args:
        tree: the content of the file.
        folder: where relative paths begin; for an overridden key it is the current folder.
        overridden: dotted keys that were set on the command line.

    Returns:
        The overrides that keep the relative paths where they are for a copy of the file elsewhere.

    Raises:
        ConfigError: an environment variable is not set, or a path is not a local one.
    """
    moved: list[str] = []
    if isinstance(benchmark := tree.get("benchmark"), dict):
        expanded = {key: _expanded(value, f"benchmark.{key}") for key, value in benchmark.items()}
        benchmark.update(expanded)
        if (root := expanded.get("root")) is not None:
            begins = _begins("benchmark.root", folder, overridden)
            benchmark["root"] = _absolute(root, begins, "benchmark.root")
            if not os.path.isabs(root):
                moved.append(_override("benchmark.root", benchmark["root"]))
    for path, settings in _with_backbones(tree):
        before, begins = settings["backbone"], _begins(f"{path}.weights", folder, overridden)
        settings["backbone"] = _weights_located(before, begins, path)
        if settings["backbone"] != _weights_located(before, Path("/"), path):
            moved.append(_override(path, settings["backbone"]))
    return moved


def _with_backbones(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings that have a backbone, each with the dotted path of that section."""
    methods = tree.get("methods")
    own = methods.items() if isinstance(methods, Mapping) else ()
    named = [(f"methods.{method}", settings) for method, settings in own]
    for path, settings in (("defaults", tree.get("defaults")), *named):
        if isinstance(settings, dict) and "backbone" in settings:
            yield f"{path}.backbone", settings


def _weights_located(backbone: Any, folder: Path, path: str) -> Any:
    """A backbone section, or an axis of such sections, with the path of its weights absolute."""

    def section(one: Any) -> Any:
        if not isinstance(one, Mapping) or one.get("weights") is None:
            return one
        return {**one, "weights": _each(one["weights"], place)}

    def place(value: Any) -> str:
        return _absolute(_expanded(value, key), folder, key)

    key = f"{path}.weights"
    return _each(backbone, section)


def _each(value: Any, changed: Callable[[Any], Any]) -> Any:
    """A value changed, or every value of an axis that stands in its place."""
    kind = axis_kind(value)
    if kind is not None and isinstance(value[kind], list):
        return {kind: [changed(one) for one in value[kind]]}
    return changed(value)


def _begins(path: str, folder: Path, overridden: Collection[str]) -> Path:
    """Where a relative path begins that is the value of a key."""
    return Path.cwd() if any(f"{path}.".startswith(f"{key}.") for key in overridden) else folder


def _override(path: str, value: Any) -> str:
    return f"{path}={json.dumps(value, ensure_ascii=False, default=str)}"


def _absolute(path: Any, folder: Path, key: str) -> str:
    if not isinstance(path, str):
        raise ConfigError("", key, f"must be a path, not {path!r}")
    try:
        check_local(path)
    except RunFolderError as failure:
        raise ConfigError("", key, str(failure)) from None
    return os.path.abspath(folder / path)


def _expanded(value: Any, path: str) -> Any:
    """A text with its ``${NAME}`` and leading ``~`` replaced; other values as they are."""
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in os.environ:
            problem = f"the environment variable {name} in '{value}' is not set"
            raise ConfigError("", path, problem)
    return os.path.expandvars(os.path.expanduser(value))
