"""Every benchmark that a sweep file can name."""

from typing import Any

from fsl_sweep.datasets.glyphs import Glyphs
from fsl_sweep.datasets.image_folder import ImageFolder
from fsl_sweep.datasets.in_distribution import PREFIX, in_distribution_of
from fsl_sweep.datasets.omniglot import Omniglot
from fsl_sweep.datasets.source import AbstractBenchmark
from fsl_sweep.orchestrator.catalogue import Catalogue, Family, Info
from fsl_sweep.orchestrator.errors import UnknownName


def _in_distribution(name: str) -> type[AbstractBenchmark[Any]]:
    if name.startswith(f"{PREFIX}:"):
        raise UnknownName("benchmark", name, BENCHMARKS.names())
    return in_distribution_of(BENCHMARKS.find(name).cls)


BENCHMARKS: Catalogue[AbstractBenchmark[Any]] = Catalogue(
    "benchmark",
    "fsl_sweep.benchmarks",
    (
        Info(
            "glyphs",
            Glyphs,
            "after Lake et al., 'Human-level concept learning through probabilistic program "
            "induction' (Science 2015)",
            "procedural handwriting, embedded: no download, any number of classes and examples",
        ),
        Info(
            "omniglot",
            Omniglot,
            "Lake et al., 'Human-level concept learning through probabilistic program induction' "
            "(Science 2015); split 'vinyals' after arXiv:1606.04080",
            "1,623 handwritten characters of 50 alphabets, 20 drawings each",
        ),
        Info(
            "image-folder",
            ImageFolder,
            "",
            "your own images: a folder or zip [SUPERCLASS/]CLASS/image, split by lists or drawn",
        ),
    ),
    (
        Family(
            PREFIX,
            "benchmark",
            _in_distribution,
            "Two Sides of Meta-Learning Evaluation, appendix D.2, table 4 (IC)",
            "a benchmark's base classes alone, their examples split 80 / 10 / 10",
        ),
    ),
)
