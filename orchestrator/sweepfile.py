"""Reading a sweep file: YAML in, a validated SweepConfig out, and errors a person can act on."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from fsl_sweep.orchestrator.blame import blaming
from fsl_sweep.orchestrator.config import MethodConfig, Named, SweepConfig
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, did_you_mean
from fsl_sweep.orchestrator.local_path import check_local
from fsl_sweep.orchestrator.printed import one_line, unfit
from fsl_sweep.orchestrator.sweep_text import noted, presets, read_sweep
from fsl_sweep.orchestrator.sweep_yaml import parsed

__all__ = ["SweepFile", "assignments", "config_error", "load_sweep", "presets", "validated"]

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class SweepFile:
    """A sweep file as read.

    Attributes:
        where: the file's path as it is named in messages.
        text: the file as given, followed by the ``--set`` overrides as comments.
        config: its validated content.
    """

    where: str
    text: str
    config: SweepConfig


def load_sweep(name_or_path: str, overrides: Sequence[str] = ()) -> SweepFile:
    """Read a sweep file, or a preset by its name.

    Args:
        name_or_path: a path, or the name of a preset such as ``quickstart``.
        overrides: ``KEY=VALUE`` texts; KEY is a dotted path, VALUE is YAML.

    Raises:
        ConfigError: no such file, not YAML, or not a sweep; the message names file, key and value.
    """
    where, text = read_sweep(name_or_path)
    tree = parsed(text, where)
    if not isinstance(tree, dict):
        raise ConfigError(where, "", "a sweep file is a mapping that begins with 'name:'")
    for override in overrides:
        _override(tree, override)
    methods = tree.get("methods")
    with blaming(where, overrides, methods if isinstance(methods, dict) else {}):
        config = validated(SweepConfig, _expanded(tree), where)
    return SweepFile(where, noted(text, overrides), config)


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` texts as a tree; a dotted KEY nests, VALUE is YAML.

    Raises:
        ConfigError: a text is not of that form.
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


def _expanded(value: Any) -> Any:
    """The benchmark's paths with ``${ENV}`` and ``~`` replaced; the rest of the file as it is."""
    if isinstance(value, dict) and isinstance(value.get("benchmark"), dict):
        benchmark = {
            k: _expanded_path(v, f"benchmark.{k}") if isinstance(v, str) else v
            for k, v in value["benchmark"].items()
        }
        return {**value, "benchmark": benchmark}
    return value


def _expanded_path(text: str, path: str) -> str:
    expanded = os.path.expandvars(os.path.expanduser(text))
    missing = re.search(r"\$\{(\w+)\}", expanded)
    if missing:
        raise ConfigError("", path, f"the environment variable {missing[1]} in '{text}' is not set")
    if path == "benchmark.root":
        try:
            check_local(expanded)
        except RunFolderError as failure:
            raise ConfigError("", path, str(failure)) from None
    return expanded


def validated(model: type[M], value: Any, where: str, path: str = "") -> M:
    """``value`` as ``model``.

    Raises:
        ConfigError: naming ``where``, the key path below ``path``, and the offending value.
    """
    try:
        return model.model_validate(value)
    except ValidationError as failure:
        raise config_error(failure, model, where, path) from None


def config_error(
    failure: ValidationError, model: type[BaseModel], where: str, path: str = ""
) -> ConfigError:
    """The first of pydantic's complaints as one message in our own form."""
    first = failure.errors(include_url=False)[0]
    # Members of a union and their tags are pydantic's own words, not keys of the file.
    location = [str(part) for part in first["loc"] if "[" not in str(part)]
    if first["type"] == "extra_forbidden":
        key = location[-1]
        known = _fields(model, first["loc"][:-1])
        meant = _elsewhere(model, key) or did_you_mean(key, known)
        return ConfigError(where, _join(path, location), f"unknown key '{key}'; {meant}")
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        return ConfigError(where, _join(path, location), "this key is missing")
    if first["type"] in ("model_type", "model_attributes_type"):
        message = "must be a mapping such as {name: ...}"
    if first["type"] == "too_short":
        message = "at least one entry is needed"
    if first["type"] != "value_error":
        shown = "null" if first["input"] is None else repr(first["input"])
        message = f"{message[0].lower()}{message[1:]}, not {shown}"
    return ConfigError(where, _join(path, location), message)


def _elsewhere(model: type[BaseModel], key: str) -> str:
    """``did you mean 'selectors.metric'?`` where other places have that key; else nothing."""
    paths = [".".join(path) for path in _paths(model) if path[-1] == key]
    shown = " or ".join(f"'{path}'" for path in sorted(paths, key=lambda one: one.count(".")))
    return f"did you mean {shown}?" if paths else ""


def _paths(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """The key paths below a model, and those of the settings that a sweep's methods share."""
    for name, field in model.model_fields.items():
        yield (name,)
        for nested in _nested(field.annotation):
            if nested is not Named:  # whose options are written beside its name
                yield from ((name, *rest) for rest in _paths(nested))
    if model is SweepConfig:
        yield from (("defaults", *rest) for rest in _paths(MethodConfig))


def _nested(annotation: Any) -> list[type[BaseModel]]:
    """The models that a field may hold."""
    candidates = (annotation, *get_args(annotation))
    return [a for a in candidates if isinstance(a, type) and issubclass(a, BaseModel)]


def _join(path: str, location: Iterable[str]) -> str:
    return ".".join(part for part in (path, *location) if part)


def _fields(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Field names of the model that sits at ``location`` below ``model``."""
    current: Any = model
    for part in location:
        field = current.model_fields.get(part) if hasattr(current, "model_fields") else None
        if field is None:
            continue
        nested = _nested(field.annotation)
        current = nested[0] if nested else current
    return list(current.model_fields)
