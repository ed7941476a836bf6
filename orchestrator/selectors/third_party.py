"""Errors of third parties' selectors: one message, without a traceback.

An error of a selector of this package is a defect of this package, and stays a traceback.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

from fsl_sweep.orchestrator.catalogue import installed, package, raised_at
from fsl_sweep.orchestrator.errors import FslSweepError, SelectorFault

GROUPS = ("fsl_sweep.snapshot_selectors", "fsl_sweep.hyperparameter_selectors")
"""The entry-point groups of third parties' selectors."""

_OURS = __name__.partition(".")[0]
_LONGEST = 200


@contextmanager
def faults_named(selector: object) -> Iterator[None]:
    """Turn an exception of a third party's selector into one message; ours keep their traceback.

    Args:
        selector: a selector, or its class before there is an instance.

    Raises:
        SelectorFault: the block raised an error that is not one of fsl-sweep's own.
    """
    try:
        yield
    except FslSweepError:
        raise
    except Exception as failure:  # third parties' code may raise anything
        if is_ours(selector):
            raise
        what, cls = f"raised {type(failure).__name__}: {short(str(failure))}", _class_of(selector)
        place = raised_at(failure, cls.__module__) or _written_at(cls)
        raise SelectorFault(_message(cls, what, place)) from failure


def broken_promise(selector: object, what: str) -> Exception:
    """Return the exception for an answer, or a declaration, that no selector may give.

    Args:
        selector: a selector or its class.
        what: what it did and must do instead, such as ``chose 99, which is not an epoch``.
    """
    cls = _class_of(selector)
    if is_ours(selector):
        return RuntimeError(f"Selector '{_name(cls)}' {what}.")
    return SelectorFault(_message(cls, what, _written_at(cls)))


def is_ours(selector: object) -> bool:
    """Tell whether a selector, or its class, is one of this package."""
    return package(_class_of(selector).__module__) == _OURS


def _class_of(selector: object) -> type:
    return selector if isinstance(selector, type) else type(selector)


def short(text: str) -> str:
    """Put a text of any origin on one line, not too long for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _message(cls: type, what: str, place: str) -> str:
    at = f" ({place})" if place else ""
    return (
        f"Selector '{_name(cls)}' of {_origin(cls)} {what}{at}. "
        "Correct it, or compare strategies without it."
    )


def _name(cls: type) -> str:
    name = getattr(cls, "name", None)
    return name if isinstance(name, str) else cls.__qualname__


def _origin(cls: type) -> str:
    """Name the distribution that lists a class of the same package, or else the class's module."""
    for point in (point for group in GROUPS for point in installed(group)):
        if point.dist is not None and package(point.module) == package(cls.__module__):
            return f"{point.dist.name} {point.dist.version}"
    return f"module {cls.__module__}"


def _written_at(cls: type) -> str:
    """Return file and line of the class; empty if its source cannot be found."""
    try:
        return f"{inspect.getsourcefile(cls)}, line {inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return ""
