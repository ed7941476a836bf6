"""Arguments from Python, checked as the command line's are: a wrong one is named."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _list(value: Any) -> bool:
    return isinstance(value, Collection) and not _text(value) and all(map(_text, value))


def _texts(value: Any) -> bool:
    return _text(value) or _list(value)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _wholes(value: Any) -> bool:
    return isinstance(value, Collection) and all(map(_whole, value))


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


_NAMES = (_texts, "a text or a list of texts")
_NAME = (_text, "a text")
_LISTED = (_list, "a list of texts")
_KINDS = {
    "snapshot": _NAMES,
    "hyperparameter": _NAMES,
    "method": _NAMES,
    "configuration": _NAMES,
    "metric": (_text, "a text such as 'mixture(0.5)'"),
    "protocol": _NAME,
    "choose_by": _NAME,
    "last": (lambda value: _whole(value) and value >= 2, "a whole number from 2"),
    "rope": (_number, "a number such as 0.01"),
    "bootstrap": (_whole, "a whole number"),
    "ensembles": (_wholes, "a list of whole numbers, such as [3]"),
    "overrides": (_list, "a list of texts, such as ['defaults.epochs=5']"),
    "only": _LISTED,
    "retry": _LISTED,
}
"""For each argument what it must be, as a test and in words."""
_NEVER_NONE = {"rope", "ensembles", "overrides", "only", "retry"}
"""The others may be None, which leaves them out."""


def check_arguments(**arguments: Any) -> None:
    """Raise ConfigError for the first argument that is not of its kind."""
    for name, value in arguments.items():
        fits, kind = _KINDS[name]
        if not fits(value) and (value is not None or name in _NEVER_NONE):
            raise ConfigError("", name, f"must be {kind}, not {value!r}")


def check_names(**arguments: Any) -> None:
    """Raise ConfigError for the first argument that is not one name."""
    for name, value in arguments.items():
        if not _text(value):
            raise ConfigError("", name, f"must be one name, not {value!r}")
