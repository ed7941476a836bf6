"""What pydantic says of a sweep file's mistakes, as messages that a person can act on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from fsl_sweep.orchestrator.config import MethodConfig, Named, SweepConfig
from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], value: Any, where: str, path: str = "", axes: bool = False) -> M:
    """``value`` as ``model``; ``axes`` as in `config_error`.

    Raises:
        ConfigError: naming ``where``, the key path below ``path``, and the offending value.
    """
    try:
        return model.model_validate(value)
    except ValidationError as failure:
        raise config_error(failure, model, where, path, axes) from None


def config_error(
    failure: ValidationError,
    model: type[BaseModel],
    where: str,
    path: str = "",
    axes: bool = False,
) -> ConfigError:
    """The first of pydantic's complaints as one message in our own form.

    Args:
        failure: pydantic's complaints.
        model: what should have been written.
        where: the file, for the message.
        path: the key path of ``model`` in it.
        axes: whether a grid may stand in place of a value there.
    """
    first = failure.errors(include_url=False)[0]
    # Members of a union and their tags are pydantic's own words, not keys of the file.
    location = [str(part) for part in first["loc"] if "[" not in str(part)]
    if first["type"] == "extra_forbidden":
        key = location[-1]
        known = _fields(model, first["loc"][:-1])
        meant = _elsewhere(model, key) or did_you_mean(key, known)
        return ConfigError(where, _join(path, location), f"unknown key '{key}'; {meant}")
    problem = _slip(first, model, axes) or _problem(first, model)
    return ConfigError(where, _join(path, location), problem)


def _problem(first: Mapping[str, Any], model: type[BaseModel]) -> str:
    message, given = first["msg"].removeprefix("Value error, "), first["input"]
    if first["type"] == "missing":
        return "this key is missing"
    if first["type"] in ("model_type", "model_attributes_type"):
        key = next(iter(_fields(model, first["loc"])), "name")
        value = given if key == "name" and isinstance(given, str) else "..."
        message = f"must be a mapping such as {{{key}: {value}}}"
    if first["type"] == "too_short":
        message = "at least one entry is needed"
    if first["type"] != "value_error":
        shown = "null" if given is None else repr(given)
        message = f"{message[0].lower()}{message[1:]}, not {shown}"
    return message


def _slip(first: Mapping[str, Any], model: type[BaseModel], axes: bool) -> str | None:
    """What to write where a list stands in place of one value, or the reverse; else None."""
    given = first["input"]
    if first["type"] == "list_type" and isinstance(given, str | int | float):
        return _as_list(first["loc"][-1], given)
    if not isinstance(given, list) or _takes_lists(model, first["loc"]):
        return None
    if first["type"] in _MAPPINGS and not all(isinstance(one, Mapping) for one in given):
        return None
    if axes and given:
        return f"is one value; to train with each of these, write {{grid: {_written(given)}}}"
    return f"is one value, not the list {_written(given)}"


_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


def _as_list(key: object, given: Any) -> str:
    one = _written([given])
    if key != "seeds" or isinstance(given, bool) or not isinstance(given, int) or given < 1:
        return f"is a list: write {one}"
    several = _written(list(range(given))) if given < 5 else f"[0, 1, ..., {given - 1}]"
    seeds = "1 seed" if given == 1 else f"{given} seeds"
    return f"is a list: for {seeds} write {several}, for the seed {given} only {one}"


def _written(value: Any) -> str:
    """A value as one would write it in the file, on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.strip()


def _takes_lists(model: type[BaseModel], location: Sequence[int | str]) -> bool:
    """Whether a list may stand somewhere on the way to ``location`` below ``model``."""
    current: Any = model
    for part in location:
        field = current.model_fields.get(part) if hasattr(current, "model_fields") else None
        if field is None:
            continue
        if _holds_list(field.annotation):
            return True
        nested = _nested(field.annotation)
        current = nested[0] if nested else None
    return False


def _holds_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_holds_list, get_args(annotation)))


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
