"""Reading a sweep file: YAML in, a validated SweepConfig out."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import blaming, validated
from fsl_sweep.orchestrator.sweepfile.text import noted, presets, read_sweep
from fsl_sweep.orchestrator.sweepfile.yaml_text import parsed, written
from fsl_sweep.orchestrator.text.printed import one_line, unfit

__all__ = ["SweepFile", "assignments", "load_sweep", "presets"]

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


@dataclass(frozen=True)
class SweepFile:
    """A sweep file as read.

    Attributes:
        where: the file's path as messages name it.
        text: the file as given, followed by the ``--set`` overrides as comments. A relative
            ``benchmark.root``, which would mean another place in a copy, is among them made
            absolute.
        config: its validated content.
    """

    where: str
    text: str
    config: SweepConfig


def load_sweep(source: str | Mapping[str, Any], overrides: Sequence[str] = ()) -> SweepFile:
    """Read a sweep file, or a preset by its name.

    Args:
        source: a path, the name of a preset such as ``quickstart``, or what such a file holds.
        overrides: ``KEY=VALUE`` texts; KEY is a dotted path, VALUE is YAML.

    A relative ``benchmark.root`` is relative to the file's folder; in a preset or in an override,
    to the current folder. In all texts of ``benchmark``, ``${NAME}`` and a leading ``~`` are
    replaced.

    Raises:
        ConfigError: no such file, not YAML, or not a sweep; the message names file, key and value.
    """
    if isinstance(source, str):
        where, text, folder = read_sweep(source)
    else:
        where, text, folder = "sweep", written(source), Path.cwd()
    tree = parsed(text, where)
    if not isinstance(tree, dict):
        raise ConfigError(where, "", "a sweep file is a mapping that begins with 'name:'")
    for override in overrides:
        _override(tree, override)
    notes = [*overrides]
    with blaming(where, overrides):
        if isinstance(benchmark := tree.get("benchmark"), dict):
            keys = {text.partition("=")[0].strip() for text in overrides}
            set_here = not keys.isdisjoint({"benchmark", "benchmark.root"})
            tree["benchmark"], moved = _located(benchmark, Path.cwd() if set_here else folder)
            notes += moved
        config = validated(SweepConfig, tree, where)
    return SweepFile(where, noted(text, notes), config)


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` texts as a tree; a dotted KEY nests, VALUE is YAML.

    Raises:
        ConfigError: a text does not have that form.
    """
    tree: dict[str, Any] = {}
    for text in texts:
        _override(tree, text)
    return tree


def _override(tree: dict[str, Any], text: str) -> None:
    key, equals, value = text.partition("=")
    parts = key.strip().split(".")
    if (character := unfit(key)) is not None:
        raise ConfigError("--set", one_line(key), f"it holds the control character {character}")
    if not equals or not all(parts):
        raise ConfigError("--set", text, "write it as KEY=VALUE, such as defaults.epochs=5")
    place: Any = tree
    for i, part in enumerate(parts[:-1]):
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            problem = f"'{'.'.join(parts[: i + 1])}' is {place!r}, which has no keys"
            raise ConfigError("--set", key, problem)
    place[parts[-1]] = parsed(value, f"--set {key}")


def _located(benchmark: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The ``benchmark`` section with its paths replaced, ``root`` taken from ``folder``.

    Returns:
        The section, and the override that keeps a relative ``root`` where it is for a copy of the
        file elsewhere; empty for other roots.

    Raises:
        ConfigError: an environment variable is not set, or ``root`` is not a local path.
    """
    plain = {key: _expanded(value, f"benchmark.{key}") for key, value in benchmark.items()}
    root = plain.get("root")
    if root is None:
        return plain, []
    if not isinstance(root, str):
        raise ConfigError("", "benchmark.root", f"must be a path, not {root!r}")
    try:
        check_local(root)
    except RunFolderError as failure:
        raise ConfigError("", "benchmark.root", str(failure)) from None
    plain["root"] = os.path.abspath(folder / root)
    moved = f"benchmark.root={json.dumps(plain['root'], ensure_ascii=False)}"
    return plain, [] if os.path.isabs(root) else [moved]


def _expanded(value: Any, path: str) -> Any:
    """A text with its ``${NAME}`` and leading ``~`` replaced; other values as they are."""
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in os.environ:
            problem = f"the environment variable {name} in '{value}' is not set"
            raise ConfigError("", path, problem)
    return os.path.expandvars(os.path.expanduser(value))
