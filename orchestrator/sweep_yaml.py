"""YAML as a sweep file may use it: plain data of a size and a depth that a person would write."""

import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import yaml

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.printed import one_line, unfit

MOST_VALUES = 100_000
DEEPEST = 50
LONGEST = 4096
"""Characters of one value: no name, path or number is longer."""


def parsed(text: str, where: str) -> Any:
    """The value that a YAML text stands for.

    Args:
        text: one document.
        where: the file, or what else holds the text, for messages.

    Raises:
        ConfigError: it is not valid YAML, repeats a key, holds control characters, or stands for
            more than ``MOST_VALUES`` values, ``DEEPEST`` levels or ``LONGEST`` characters a value.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _extent(node, {}, where)
        return loader.construct_document(node)
    except yaml.reader.ReaderError as failure:
        line = text.count("\n", 0, failure.position) + 1
        character = one_line(text[failure.position])
        problem = f"line {line}: it holds the character {character}, which no YAML text may hold"
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
    """The YAML text that stands for plain data. Raises ConfigError where it is anything else."""
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
            break  # which is refused below
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

_Extent = tuple[float, float]
_ENDLESS = (math.inf, math.inf)


def _extent(node: yaml.Node, known: dict[int, _Extent], where: str) -> _Extent:
    """How many values a node stands for with its aliases written out, and their levels.

    A few lines of aliases of aliases can stand for more values than fit in any memory.
    """
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = _ENDLESS  # an alias that stands within what it stands for
    place = f"line {node.start_mark.line + 1}"
    if isinstance(node, yaml.ScalarNode):
        _check_scalar(node.value, where, place)
    below = [_extent(one, known, where) for one in _children(node)]
    values = 1 + sum(count for count, _ in below)
    levels = 1 + max((depth for _, depth in below), default=0)
    if levels > DEEPEST and values < math.inf:
        raise ConfigError(where, "", f"{place}: nested more than {DEEPEST} levels deep")
    if values > MOST_VALUES:
        problem = f"stands for more than {MOST_VALUES:,} values, with its aliases written out"
        raise ConfigError(where, "", f"{place}: {problem}")
    known[id(node)] = values, levels
    return values, levels


def _check_scalar(value: str, where: str, place: str) -> None:
    if len(value) > LONGEST:
        raise ConfigError(where, "", f"{place}: a value of more than {LONGEST:,} characters")
    if (character := unfit(value)) is not None:
        problem = f"'{one_line(value)}' holds the control character {character}; leave it out"
        raise ConfigError(where, "", f"{place}: {problem}")


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
