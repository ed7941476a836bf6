"""Paths in a sweep file: where a benchmark's files are, whoever reads the sweep, wherever."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.local_path import check_local

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")


def with_paths(tree: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A sweep file's tree with the paths of its benchmark as they are meant.

    In every text of ``benchmark``, ``${NAME}`` and a leading ``~`` are replaced; a relative
    ``root`` is taken from ``folder`` and made absolute.

    Raises:
        ConfigError: an environment variable is not set, or ``root`` is no text or no local path.
    """
    benchmark = tree.get("benchmark")
    if not isinstance(benchmark, Mapping):
        return dict(tree)
    plain = {key: _expanded(value, f"benchmark.{key}") for key, value in benchmark.items()}
    root = plain.get("root")
    if root is not None:
        if not isinstance(root, str):
            raise ConfigError("", "benchmark.root", f"must be a path, not {root!r}")
        try:
            check_local(root)
        except RunFolderError as failure:
            raise ConfigError("", "benchmark.root", str(failure)) from None
        plain["root"] = os.path.abspath(folder / root)
    return {**tree, "benchmark": plain}


def moved_root(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The override that keeps a relative ``root`` where it is, for a copy of the file elsewhere.

    Args:
        before: a sweep file's tree.
        after: the same from ``with_paths``.
    """
    given = before["benchmark"].get("root") if isinstance(before.get("benchmark"), dict) else None
    if given is None or os.path.isabs(_expanded(given, "benchmark.root")):
        return []
    return [f"benchmark.root={json.dumps(after['benchmark']['root'], ensure_ascii=False)}"]


def _expanded(value: Any, path: str) -> Any:
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in os.environ:
            problem = f"the environment variable {name} in '{value}' is not set"
            raise ConfigError("", path, problem)
        return os.environ[name]

    return _VARIABLE.sub(variable, os.path.expanduser(value))
