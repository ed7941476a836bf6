"""CIFAR-FS: the 100 classes of CIFAR-100 drawn into 64, 16 and 20, whatever their superclass.

Bertinetto et al., "Meta-learning with differentiable closed-form solvers" (arXiv 1805.08136). With
held-out examples of the base classes it is cifar-M of "Two Sides of Meta-Learning Evaluation".
"""

from collections.abc import Mapping
from typing import final

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.cifar100 import AbstractCifar100, Cifar100Options, labels_of
from fsl_sweep.datasets.cifar100_classes import read_facts
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits import class_benchmark


@final
class CifarFs(AbstractCifar100[Cifar100Options]):
    """The published lists of classes; every superclass has classes in several splits."""

    name = "cifar-fs"
    Options = Cifar100Options

    def assemble(self, options: Cifar100Options, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists; base examples by the held-out share."""
        pool = pools["main"]
        split = labels_of(pool, read_facts("cifar_fs.json")["classes"])
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: Cifar100Options) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """The published counts."""
        return {"base": 64, "val": 16, "novel": 20}
