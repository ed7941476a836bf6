"""Reading a sweep file: YAML in, a validated SweepConfig out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import blaming, validated
from fsl_sweep.orchestrator.sweepfile.places import located
from fsl_sweep.orchestrator.sweepfile.text import noted, presets, read_sweep
from fsl_sweep.orchestrator.sweepfile.yaml_text import parsed, written
from fsl_sweep.orchestrator.text.printed import one_line, unfit

__all__ = ["SweepFile", "assignments", "load_sweep", "presets"]


@dataclass(frozen=True)
class SweepFile:
    """A sweep file as read.

    Attributes:
        where: the file's path as messages name it.
        text: the file as given, followed by the ``--set`` overrides as comments. Relative paths,
            which would mean other places in a copy, are among them made absolute.
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

    A relative ``benchmark.root`` or ``backbone.weights`` is relative to the file's folder; in a
    preset or in an override, to the current folder. In all texts of ``benchmark`` and in
    ``backbone.weights``, ``${NAME}`` and a leading ``~`` are replaced.

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
    with blaming(where, overrides):
        keys = {text.partition("=")[0].strip() for text in overrides}
        moved = located(tree, folder, keys)
        config = validated(SweepConfig, tree, where)
    return SweepFile(where, noted(text, [*overrides, *moved]), config)


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
