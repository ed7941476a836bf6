"""FC100: the superclasses of CIFAR-100 drawn into 12, 4 and 4, so 60, 20 and 20 classes.

Oreshkin, Rodriguez, Lacoste, "TADAM: Task dependent adaptive metric for improved few-shot learning"
(arXiv 1805.10123), section 4.1. With held-out examples of the base classes it is FC-M of "Two Sides
of Meta-Learning Evaluation".
"""

from collections.abc import Mapping
from typing import final

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.cifar100 import (
    AbstractCifar100,
    Cifar100Options,
    classes_within,
    labels_of,
)
from fsl_sweep.datasets.cifar100_classes import read_facts
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits import class_benchmark


@final
class Fc100(AbstractCifar100[Cifar100Options]):
    """The published lists of superclasses: novel classes are far from base classes."""

    name = "fc100"
    Options = Cifar100Options

    def assemble(self, options: Cifar100Options, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published superclasses; base examples by the held-out share."""
        pool = pools["main"]
        lists = read_facts("fc100.json")["superclasses"]
        names = {split: classes_within(groups) for split, groups in lists.items()}
        split = labels_of(pool, names)
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: Cifar100Options) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """The published counts."""
        return {"base": 60, "val": 20, "novel": 20}
