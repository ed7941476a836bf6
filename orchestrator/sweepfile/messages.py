"""Mistakes in a sweep file as messages: the key path, what is wrong, what to write."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.sweepfile.grammar import MethodConfig, SweepConfig

M = TypeVar("M", bound=BaseModel)

# What pydantic puts into a location for the member of a union: ``literal['all']``, ``float``.
_UNION_MEMBER = re.compile(r".*\[.*|(constrained-)?(int|float|str)")
_OTHERWISE = {"learning_rate": "lr"}
"""Keys that other programs call so, by our names."""
_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


def validated(model: type[M], value: Any, path: str = "", axes: bool = False) -> M:
    """Validate ``value`` as ``model``. Arguments as of `config_error`.

    Raises:
        ConfigError: naming the key path below ``path``, and the offending value.
    """
    try:
        return model.model_validate(value)
    except ValidationError as failure:
        raise config_error(failure, model, path, axes) from None


def config_error(
    failure: ValidationError, model: type[BaseModel], path: str = "", axes: bool = False
) -> ConfigError:
    """Put the first of pydantic's errors into our words; `blaming` adds the file.

    Args:
        failure: pydantic's errors.
        model: what should have been written.
        path: the key path of ``model`` in the file.
        axes: whether a grid may replace a value there.
    """
    errors = failure.errors(include_url=False)
    first = _of_an_entry(errors) or _misspelt(errors) or errors[0]
    location = _keys(first)
    place = ".".join([path, *location] if path else location)
    if first["type"] == "extra_forbidden":
        key = location[-1]
        advice = _elsewhere(model, _OTHERWISE.get(key, key)) or did_you_mean(
            key, _fields(model, first["loc"][:-1])
        )
        return ConfigError("", place, f"unknown key '{key}'; {advice}")
    members = [error for error in errors if _keys(error) == location]
    return ConfigError("", place, _slip(first, model, axes) or _problem(members, model))


@contextmanager
def blaming(
    where: str, overrides: Sequence[str] = (), place: Callable[[str], str] = str
) -> Iterator[None]:
    """Name the source of the value in every ConfigError that is raised in the block.

    A value at or below an overridden key comes from ``--set``. One above it comes from both.

    Args:
        where: the sweep file.
        overrides: the ``KEY=VALUE`` texts of ``--set``.
        place: gives the key path under which the file holds a value.

    Raises:
        ConfigError: as in the block; its ``where`` names the source.
    """
    try:
        yield
    except ConfigError as error:
        if error.where not in ("", where):
            raise
        path = error.path.split(".") if error.path else []
        keys = [text.partition("=")[0].strip().split(".") for text in overrides]
        if any(path[: len(key)] == key for key in keys):
            raise ConfigError("--set", error.path, error.problem) from None
        if any(key[: len(path)] == path for key in keys):
            where = f"{where} with --set"
        raise ConfigError(where, place(error.path), error.problem) from None


def _of_an_entry(errors: Sequence[Any]) -> Any:
    """Find the first error about an entry of a list, where a value is allowed in its place."""
    place = _keys(errors[0])
    inside = (e for e in errors if len(_keys(e)) > len(place) and _keys(e)[: len(place)] == place)
    return next(inside, None) if isinstance(errors[0]["input"], list) else None


def _misspelt(errors: Sequence[Any]) -> Any:
    """Find the error about an unknown key that stands for the missing one of the first error."""
    *place, key = _keys(errors[0]) or [""]
    unknown = (e for e in errors if e["type"] == "extra_forbidden" and _keys(e)[:-1] == place)
    if errors[0]["type"] != "missing":
        return None
    return next((e for e in unknown if get_close_matches(_keys(e)[-1], [key])), None)


def _keys(error: Any) -> list[str]:
    """Return the location of an error without pydantic's names of union members."""
    return [str(part) for part in error["loc"] if not _UNION_MEMBER.fullmatch(str(part))]


def _problem(errors: Sequence[Any], model: type[BaseModel]) -> str:
    """Say what is wrong with a value, from the errors of all members of a union."""
    first, value = errors[0], errors[0]["input"]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return message
    if first["type"] == "missing":
        return "this key is missing"
    if first["type"] == "too_short":
        message = "at least one entry is needed"
    elif first["type"] in _MAPPINGS[1:]:
        key = next(iter(_fields(model, first["loc"])), "name")
        example = value if key == "name" and isinstance(value, str) else "..."
        message = f"must be a mapping such as {{{key}: {example}}}"
    else:
        others = [error["msg"].removeprefix("Input should be ") for error in errors[1:]]
        message = " or ".join([f"{message[0].lower()}{message[1:]}", *others])
    return f"{message}, not {'null' if value is None else repr(value)}"


def _slip(first: Any, model: type[BaseModel], axes: bool) -> str | None:
    """Say what to write for a list in place of one value, or the reverse; None for others."""
    value = first["input"]
    if first["type"] == "list_type" and isinstance(value, str | int | float):
        return _as_list(first["loc"][-1], value)
    if not isinstance(value, list) or any(map(_holds_list, _annotations(model, first["loc"]))):
        return None
    if first["type"] in _MAPPINGS and not all(isinstance(entry, Mapping) for entry in value):
        return None
    if axes and value:
        return f"is one value; to train with each of these, write {{grid: {_written(value)}}}"
    return f"is one value, not the list {_written(value)}"


def _as_list(key: object, value: Any) -> str:
    single = _written([value])
    if key != "seeds" or isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return f"is a list: write {single}"
    several = _written(list(range(value))) if value < 5 else f"[0, 1, ..., {value - 1}]"
    seeds = "1 seed" if value == 1 else f"{value} seeds"
    return f"is a list: for {seeds} write {several}, for the seed {value} only {single}"


def _written(value: Any) -> str:
    """Write a value as one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.strip()


def _elsewhere(model: type[BaseModel], key: str) -> str:
    """Ask ``did you mean 'selectors.metric'?`` if the key exists elsewhere; else nothing."""
    paths = [".".join(path) for path in _paths(model) if path[-1] == key]
    shown = " or ".join(f"'{path}'" for path in sorted(paths, key=lambda path: path.count(".")))
    return f"did you mean {shown}?" if paths else ""


def _paths(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """List the key paths below a model, and those of the settings that a sweep's methods share."""
    for name, field in model.model_fields.items():
        yield (name,)
        for nested in _nested(field.annotation):
            if nested is not Named:  # its options are written beside its name
                yield from ((name, *rest) for rest in _paths(nested))
    if model is SweepConfig:
        yield from (("defaults", *rest) for rest in _paths(MethodConfig))


def _fields(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """List the field names of the model at ``location`` below ``model``."""
    for annotation in _annotations(model, location):
        model = next(iter(_nested(annotation)), model)
    return list(_by_key(model))


def _by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the keys of a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _annotations(model: type[BaseModel], location: Sequence[int | str]) -> Iterator[Any]:
    """Yield the annotations of the fields on the way to ``location`` below ``model``."""
    current: type[BaseModel] | None = model
    for part in location:
        field = _by_key(current).get(str(part)) if current else None
        if field is not None:
            yield field.annotation
            current = next(iter(_nested(field.annotation)), None)


def _nested(annotation: Any) -> list[type[BaseModel]]:
    """List the models that a field may hold."""
    candidates = (annotation, *get_args(annotation))
    return [a for a in candidates if isinstance(a, type) and issubclass(a, BaseModel)]


def _holds_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_holds_list, get_args(annotation)))
