"""Which ImageNet classes miniImageNet and tieredImageNet are made of, and how a pool says so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from fsl_sweep.datasets.benchmark import MEASURED as CLASS_SPLITS
from fsl_sweep.datasets.source import Options
from fsl_sweep.datasets.splits.drawn import marks, read_facts
from fsl_sweep.datasets.store.writing import PoolWriter


class ImagenetOptions(Options):
    """Options of a benchmark made of ImageNet."""

    image_size: int = Field(84, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the held-out examples")


@dataclass(frozen=True)
class ListedClass:
    """A class of a published list: its WordNet id, or what the data call it."""

    name: str
    split: str
    superclass: str | None = None


def mini_classes() -> tuple[ListedClass, ...]:
    """The 64, 16 and 20 classes of miniImageNet (Ravi and Larochelle, 2017), sorted by name."""
    lists = read_facts("mini_imagenet_classes.json")["classes"]
    return _sorted(ListedClass(name, split) for split in CLASS_SPLITS for name in lists[split])


def tiered_classes() -> tuple[ListedClass, ...]:
    """The 351, 97 and 160 classes of tieredImageNet (Ren et al., 2018), sorted by name."""
    lists = read_facts("tiered_imagenet_classes.json")["superclasses"]
    return _sorted(
        ListedClass(name, split, superclass)
        for split in CLASS_SPLITS
        for superclass, names in lists[split].items()
        for name in names
    )


def describe(pool: PoolWriter, classes: Sequence[ListedClass]) -> None:
    """Name a pool's classes, in the order of their labels; attributes hold their splits."""
    superclasses = [c.superclass for c in classes if c.superclass is not None]
    pool.describe(
        [c.name for c in classes],
        superclasses=superclasses or None,
        **marks([c.split for c in classes]),
    )


def _sorted(classes: Iterable[ListedClass]) -> tuple[ListedClass, ...]:
    return tuple(sorted(classes, key=lambda listed: listed.name))
