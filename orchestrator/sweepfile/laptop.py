"""The laptop variant of a sweep: its ``laptop`` section put over the rest of the file.

The section makes a sweep small, on data that need no download, so that everybody can see what it
does. Its numbers are not those of the file: the variant has a name of its own, and says what stands
in for what.
"""

from collections.abc import Mapping
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean
from fsl_sweep.orchestrator.sweepfile.axes import axis_kind, replaces

SECTION = "laptop"

# Options of one benchmark mean nothing to another, and a mixture of two schedules is a third.
_WHOLE = ("benchmark", "schedule")


def variant(tree: Mapping[str, Any], section: Any) -> dict[str, Any]:
    """Put a ``laptop`` section over a sweep file's other keys; neither is changed.

    Raises:
        ConfigError: the section is no mapping, names the variant, or overrides a method that the
            file does not have.
    """
    if not isinstance(section, Mapping) or not section:
        example = "{benchmark: {name: glyphs}, defaults: {epochs: 4}}"
        raise ConfigError("", SECTION, f"must be a mapping such as {example}, not {section!r}")
    if reserved := {"name", SECTION} & section.keys():
        key = min(reserved)
        raise ConfigError("", f"{SECTION}.{key}", "the variant has a name of its own; leave it out")
    _check_methods(tree, section)
    return merged(tree, section) | {"name": variant_name(tree.get("name"))}


def variant_name(name: Any) -> str:
    """Return the name of a sweep's variant, and so of its run folder."""
    return f"{name}-{SECTION}"


def merged(tree: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Put overrides over a tree, key by key at every depth; null takes a key out.

    A value that is no mapping replaces the tree's, and so do ``benchmark``, ``schedule``, an axis,
    and a section that names another part.
    """
    result = dict(tree)
    for key, value in overrides.items():
        before: Any = result.get(key)
        if value is None:
            result.pop(key, None)
        elif _deeper(key, before, value):
            result[key] = merged(before, value)
        else:
            result[key] = value
    return result


def place(tree: Mapping[str, Any], changed: Mapping[str, Any], path: str) -> str:
    """Return where the value at a key path of a variant is written: perhaps below ``laptop``.

    Args:
        tree: the file's tree, without the section.
        changed: the variant's.
        path: a key path of the variant.
    """
    before, after = tree, changed
    for key in path.split("."):
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            break
        if axis_kind(before) or axis_kind(after):
            break
        before, after = ({str(k): v for k, v in each.items()} for each in (before, after))
        if key not in before and key not in after:
            return path
        before, after = before.get(key), after.get(key)
    return path if before == after else f"{SECTION}.{path}"


def stands_in(tree: Mapping[str, Any], changed: Mapping[str, Any]) -> str:
    """Say what a variant has in place of what: ``glyphs stands in for mini-imagenet``."""
    full, small = (_benchmark(each) for each in (tree, changed))
    return f"smaller than {tree.get('name')}" if full == small else f"{small} stands in for {full}"


def _benchmark(tree: Mapping[str, Any]) -> Any:
    section = tree.get("benchmark")
    return section.get("name") if isinstance(section, Mapping) else None


def _deeper(key: str, before: Any, value: Any) -> bool:
    """Return whether a value is merged into the one before, not put in its place."""
    if key in _WHOLE or not isinstance(before, Mapping) or not isinstance(value, Mapping):
        return False
    return not replaces(before, value)


def _check_methods(tree: Mapping[str, Any], section: Mapping[str, Any]) -> None:
    known, changed = tree.get("methods"), section.get("methods")
    if isinstance(known, Mapping) and isinstance(changed, Mapping):
        for method in changed:
            if method not in known:
                problem = f"the file has no method '{method}'; {did_you_mean(str(method), known)}"
                raise ConfigError("", f"{SECTION}.methods.{method}", problem)
