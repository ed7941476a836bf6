"""The 100 classes and 20 superclasses of CIFAR-100, and how their names are spelled.

The names are those of the official python archive. Folders made from it spell them differently:
what counts as the same name is stated only here.
"""

from collections.abc import Mapping

from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.orchestrator.errors import did_you_mean


def _superclasses() -> dict[str, str]:
    table = read_facts("cifar100_classes.json")["superclasses"]
    return dict(sorted((name, group) for group, names in table.items() for name in names))


def _spelling(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


SUPERCLASS_OF: Mapping[str, str] = _superclasses()
"""The superclass of each class; in the alphabetical order of the classes, which is the official
order of their labels."""

_CLASSES = {_spelling(name): name for name in SUPERCLASS_OF}


def class_called(name: str) -> str | None:
    """The class that a folder's name means, or None.

    Case does not matter, and spaces and hyphens count as underscores: ``Sweet pepper`` is
    ``sweet_pepper``. A plural or another word is another name.
    """
    return _CLASSES.get(_spelling(name))


def is_class_or_group(name: str) -> bool:
    """Whether a folder's name means a class or a superclass."""
    return _spelling(name) in {*_CLASSES, *map(_spelling, SUPERCLASS_OF.values())}


def nearest_class(name: str) -> str:
    """A suggestion for a name that means no class."""
    return did_you_mean(_spelling(name), _CLASSES)
