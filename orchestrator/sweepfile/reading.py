"""Reading a sweep file: YAML in, a validated SweepConfig out."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.sweepfile.axes import axis_kind
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.laptop import SECTION, place, stands_in, variant
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
            path, which would mean another place in a copy, is among them made absolute.
        config: its validated content.
        overrides: the ``--set`` texts that changed it.
        place: gives the key path under which the file holds a value of ``config``.
        stands_in: of a laptop variant, what stands in for what; else empty.
        laptop: reads the laptop variant; None where the file has none, and of the variant.
    """

    where: str
    text: str
    config: SweepConfig
    overrides: tuple[str, ...] = ()
    place: Callable[[str], str] = str
    stands_in: str = ""
    laptop: "Callable[[], SweepFile] | None" = None


def load_sweep(source: str | Mapping[str, Any], overrides: Sequence[str] = ()) -> SweepFile:
    """Read a sweep file, or a preset by its name.

    Args:
        source: a path, the name of a preset such as ``quickstart``, or what such a file holds.
        overrides: ``KEY=VALUE`` texts; KEY is a dotted path, VALUE is YAML.

    A relative path (``benchmark.root``, an option of the benchmark that is a path) is relative to
    the file's folder; in a preset or in an override, to the current folder. In all texts of a
    benchmark and in ``backbone.weights``, ``${NAME}`` and a leading ``~`` are replaced.

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
    sweep = partial(_located, where, text, folder)
    if tree.get(SECTION) is None:
        return sweep(tree, overrides)
    full = {key: value for key, value in tree.items() if key != SECTION}
    with blaming(where, overrides):
        small = variant(full, tree[SECTION])
    with blaming(where, overrides, partial(place, full, small)):
        validated(SweepConfig, small)
    return replace(sweep(tree, overrides), laptop=partial(_laptop, sweep, full, small, overrides))


def _laptop(
    sweep: Callable[..., SweepFile],
    full: Mapping[str, Any],
    small: Mapping[str, Any],
    overrides: Sequence[str],
) -> SweepFile:
    """Read the laptop variant ``small``: what is overridden in the file is overridden there too."""
    changed = deepcopy(dict(small))
    changes = [text.removeprefix(f"{SECTION}.") for text in overrides]
    for change in changes:
        if change.partition("=")[0].strip() not in ("name", SECTION):
            _override(changed, change)
    return sweep(changed, changes, partial(place, full, changed), stands_in(full, changed))


def _located(
    where: str,
    text: str,
    folder: Path,
    tree: dict[str, Any],
    overrides: Sequence[str],
    place: Callable[[str], str] = str,
    remark: str = "",
) -> SweepFile:
    """Make the paths in a tree absolute, and validate it. Arguments as of `SweepFile`."""
    tree = deepcopy(tree)
    with blaming(where, overrides, place):
        overridden = [text.partition("=")[0].strip() for text in overrides]

        def base(path: str) -> Path:
            """Return the folder that a relative path at this key path begins in."""
            here = any(f"{path}.".startswith(f"{key}.") for key in overridden)
            return Path.cwd() if here else folder

        notes = [*overrides, *_locate_files(tree, base), *_locate_weights(tree, base)]
        config = validated(SweepConfig, tree)
    noted_text = noted(text, notes, laptop=bool(remark))
    return SweepFile(where, noted_text, config, tuple(overrides), place, remark)


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` texts as a tree; a dotted KEY nests, VALUE is YAML.

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


def _locate_files(tree: Mapping[str, Any], base: Callable[[str], Path]) -> Iterator[str]:
    """Make the paths of data absolute, in ``tree``; yield the overrides that say so in a copy."""
    for path, section, keys in _with_paths(tree):
        section.update({k: _expanded(value, f"{path}.{k}") for k, value in section.items()})
        for key in keys:
            value, key_path = section.get(key), f"{path}.{key}"
            if value is None or (key == "classes" and isinstance(value, list)):
                continue
            section[key] = located(value, key_path, base(key_path))
            if not os.path.isabs(value):
                yield f"{key_path}={json.dumps(section[key], ensure_ascii=False)}"


def _with_paths(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], Sequence[str]]]:
    """Yield sections that may hold paths: their key path, the section, and the paths' keys."""
    if isinstance(benchmark := tree.get("benchmark"), dict):
        yield "benchmark", benchmark, path_keys(benchmark)
    further = tree.get("measure")
    for name, protocol in further.items() if isinstance(further, dict) else ():
        if isinstance(protocol, dict):
            yield f"measure.{name}", protocol, ["classes"]
            if isinstance(benchmark := protocol.get("benchmark"), dict):
                yield f"measure.{name}.benchmark", benchmark, path_keys(benchmark)


def path_keys(benchmark: Mapping[str, Any]) -> list[str]:
    """List the keys of a benchmark's section that are paths: ``root``, and options of that type.

    Workers have another current folder, so a relative path would be another place there.
    """
    try:
        options = BENCHMARKS.find(str(benchmark.get("name"))).cls.Options.model_fields
    except UnknownName:  # which planning says, with its key path
        return ["root"]
    types = {key: (field.annotation, *get_args(field.annotation)) for key, field in options.items()}
    return ["root", *(key for key, allowed in types.items() if Path in allowed)]


def located(value: Any, path: str, folder: Path | None = None) -> str:
    """Make a local path absolute, relative to a folder (the current one by default).

    Raises ConfigError, which names the key ``path``.
    """
    if not isinstance(value, str):
        raise ConfigError("", path, f"must be a path, not {value!r}")
    try:
        check_local(value)
    except RunFolderError as failure:
        raise ConfigError("", path, str(failure)) from None
    return os.path.abspath((folder or Path()) / os.path.expanduser(value))


def _expanded(value: Any, path: str) -> Any:
    """Replace ``${NAME}`` and a leading ``~`` in a text; other values stay as they are."""
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in os.environ:
            problem = f"the environment variable {name} in '{value}' is not set"
            raise ConfigError("", path, problem)
    return os.path.expandvars(os.path.expanduser(value))


def _locate_weights(tree: Mapping[str, Any], base: Callable[[str], Path]) -> Iterator[str]:
    """Do the same for the paths of weights, which may be values of axes."""
    sections = {"defaults": tree.get("defaults")}
    if isinstance(methods := tree.get("methods"), Mapping):
        sections |= {f"methods.{method}": settings for method, settings in methods.items()}
    for path, settings in sections.items():
        if not isinstance(settings, dict) or "backbone" not in settings:
            continue
        before, key = settings["backbone"], f"{path}.backbone.weights"
        settings["backbone"] = _with_weights(before, key, base(key))
        if settings["backbone"] != _with_weights(before, key, Path("/")):
            whole = json.dumps(settings["backbone"], ensure_ascii=False, default=str)
            yield f"{path}.backbone={whole}"


def _with_weights(backbone: Any, key: str, folder: Path) -> Any:
    """Make the path of a backbone's weights absolute; or those of an axis of backbones."""

    def place(weights: Any) -> str:
        return located(_expanded(weights, key), key, folder)

    def section(value: Any) -> Any:
        if not isinstance(value, Mapping) or value.get("weights") is None:
            return value
        return {**value, "weights": _each(value["weights"], place)}

    return _each(backbone, section)


def _each(value: Any, changed: Callable[[Any], Any]) -> Any:
    """Change a value, or every value of an axis that stands in its place."""
    kind = axis_kind(value)
    if kind is not None and isinstance(value[kind], list):
        return {kind: [*map(changed, value[kind])]}
    return changed(value)
