"""CIFAR-100 as in the feedback phase of the MetaDL challenge of 2021: 80 and 20 classes.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2.3 and the table of its
meta-datasets: 80 classes to train on and 20 to test on, split "similar to" FC100, so that no
superclass is on both sides. The lists were not published. Here the 20 are FC100's novel classes,
and the 80 are the others; the challenge left it to its participants to set validation classes
aside, and here they are whole superclasses among the 80, drawn by the seed.
"""

from collections.abc import Mapping
from typing import final

from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.cifar100 import (
    AbstractCifar100,
    Cifar100Options,
    classes_within,
    labels_of,
)
from fsl_sweep.datasets.cifar100_classes import SUPERCLASS_OF, read_facts
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits import class_benchmark, named_generator

_CLASSES_EACH = 5


class Cifar100MetadlOptions(Cifar100Options):
    """Options of ``cifar100-metadl``."""

    seed: int = Field(0, ge=0, description="of the validation classes and the held-out examples")
    val_superclasses: int = Field(
        3, ge=1, le=15, description="superclasses, of the 16 to train on, that are for validation"
    )


@final
class Cifar100Metadl(AbstractCifar100[Cifar100MetadlOptions]):
    """80 classes for base and val together, 20 novel ones of other superclasses."""

    name = "cifar100-metadl"
    Options = Cifar100MetadlOptions

    def assemble(self, options: Cifar100MetadlOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Novel classes are fixed; val is drawn, whole superclasses at a time."""
        pool = pools["main"]
        novel = read_facts("fc100.json")["superclasses"]["novel"]
        others = sorted(set(SUPERCLASS_OF.values()) - set(novel))
        named_generator(options.seed, "metadl").shuffle(others)
        val, base = others[: options.val_superclasses], others[options.val_superclasses :]
        groups = {"base": base, "val": val, "novel": novel}
        names = {split: classes_within(listed) for split, listed in groups.items()}
        split = labels_of(pool, names)
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: Cifar100MetadlOptions) -> Mapping[str, int]:
        """The challenge's counts: base and val together are 80."""
        val = _CLASSES_EACH * options.val_superclasses
        return {"base": 80 - val, "val": val, "novel": 20}
