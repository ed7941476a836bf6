"""YAML as a sweep file may use it: plain data of limited size and depth."""

import re
from collections.abc import Hashable, Mapping
from typing import Any

import yaml

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.text.printed import one_line, unfit

MOST_VALUES = 100_000
DEEPEST = 50
LONGEST = 4096
"""Characters of one value. No name, path or number is longer."""


def parsed(text: str, where: str) -> Any:
    """Read a YAML text of one document; ``where`` names its source in messages.

    Raises:
        ConfigError: it is not valid YAML, repeats a key, holds control characters, or has more than
            ``MOST_VALUES`` values, ``DEEPEST`` levels or ``LONGEST`` characters in a value.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_extent(node, where)
        return loader.construct_document(node)
    except yaml.reader.ReaderError as failure:
        line = text.count("\n", 0, failure.position) + 1
        character = one_line(text[failure.position])
        problem = f"line {line}: it holds the character {character}, which YAML does not allow"
        raise ConfigError(where, "", f"not valid YAML: {problem}") from None
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(where, "", f"not valid YAML: {place}{failure.problem}") from failure
    except RecursionError:
        raise ConfigError(where, "", f"nested more than {DEEPEST} levels deep") from None
    except (yaml.YAMLError, ValueError) as failure:
        raise ConfigError(where, "", f"not valid YAML: {failure}") from failure


def written(tree: Mapping[str, Any]) -> str:
    """Write plain data as YAML. Raises ConfigError if it is not plain data."""
    try:
        return yaml.safe_dump(dict(tree), sort_keys=False)
    except (yaml.YAMLError, RecursionError) as failure:
        raise ConfigError("sweep", "", f"not plain data: {failure}") from failure


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a repeated key and reads ``1e-3`` as the number it looks like."""


def _mapping_without_repeats(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    keys: set[Hashable] = set()
    for place, _ in node.value:
        key = loader.construct_object(place, deep=True)
        if not isinstance(key, Hashable):
            break  # construct_mapping refuses it
        if key in keys:
            line = place.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: the key '{key}' is written twice")
        keys.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def _check_extent(root: yaml.Node, where: str) -> None:
    """Refuse a node that is too large with its aliases written out ("billion laughs")."""
    values, pending = 0, [(root, 1)]
    while pending:
        node, depth = pending.pop()
        place = f"line {node.start_mark.line + 1}: "
        values += 1
        if depth > DEEPEST:
            raise ConfigError(where, "", f"{place}nested more than {DEEPEST} levels deep")
        if values > MOST_VALUES:
            problem = f"more than {MOST_VALUES:,} values, with its aliases written out"
            raise ConfigError(where, "", problem)
        if isinstance(node, yaml.ScalarNode):
            _check_scalar(node.value, where, place)
        elif isinstance(node, yaml.MappingNode):
            pending += [(child, depth + 1) for pair in node.value for child in pair]
        else:
            pending += [(child, depth + 1) for child in node.value]


def _check_scalar(value: str, where: str, place: str) -> None:
    if len(value) > LONGEST:
        raise ConfigError(where, "", f"{place}a value of more than {LONGEST:,} characters")
    if (character := unfit(value)) is not None:
        problem = f"'{one_line(value)}' holds the control character {character}; leave it out"
        raise ConfigError(where, "", f"{place}{problem}")
