"""Every benchmark that a sweep file can name."""

from typing import Any

from fsl_sweep.datasets.benchmarks.cifar100 import Cifar100Metadl, CifarFs, Fc100
from fsl_sweep.datasets.benchmarks.features import Features
from fsl_sweep.datasets.benchmarks.femnist import Femnist
from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs
from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.benchmarks.imagenet.mini import MiniImagenet
from fsl_sweep.datasets.benchmarks.imagenet.tiered import TieredImagenet
from fsl_sweep.datasets.benchmarks.in_distribution import PREFIX, in_distribution_of
from fsl_sweep.datasets.benchmarks.omniglot import Omniglot
from fsl_sweep.datasets.benchmarks.zappos import ZapposId, ZapposOod
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
            "cifar-fs",
            CifarFs,
            "arXiv:1805.08136; cifar-M of 'Two Sides of Meta-Learning Evaluation'",
            "CIFAR-100's classes split into 64, 16 and 20, whatever their superclass",
        ),
        Info(
            "fc100",
            Fc100,
            "arXiv:1805.10123; FC-M of 'Two Sides of Meta-Learning Evaluation'",
            "CIFAR-100's 20 superclasses split into 12, 4 and 4: 60, 20 and 20 classes",
        ),
        Info(
            "cifar100-metadl",
            Cifar100Metadl,
            "'Advances in MetaDL: AAAI 2021 challenge and workshop', feedback phase",
            "CIFAR-100 as 80 classes (base and val) and 20 novel ones of other superclasses",
        ),
        Info(
            "mini-imagenet",
            MiniImagenet,
            "Vinyals et al., 'Matching Networks for One Shot Learning', arXiv:1606.04080; classes "
            "of Ravi and Larochelle, 'Optimization as a Model for Few-Shot Learning' (ICLR 2017)",
            "miniImageNet: 100 classes of ImageNet, 64, 16 and 20, with fresh images for BaseGen",
        ),
        Info(
            "tiered-imagenet",
            TieredImagenet,
            "Ren et al., 'Meta-Learning for Semi-Supervised Few-Shot Classification', "
            "arXiv:1803.00676",
            "tieredImageNet: 608 classes of ImageNet, 351, 97 and 160, split by superclass",
        ),
        Info(
            "femnist",
            Femnist,
            "Caldas et al., 'LEAF: A Benchmark for Federated Settings', arXiv:1812.01097; tasks of "
            "'Two Sides of Meta-Learning Evaluation', section 4",
            "handwritten digits and letters; a task is a writer with all that they have written",
        ),
        Info(
            "zappos-id",
            ZapposId,
            "Yu and Grauman, 'Fine-Grained Visual Comparisons with Local Learning' (CVPR 2014); "
            "tasks of 'Two Sides of Meta-Learning Evaluation', section 4 and appendix D.1",
            "50,025 shoes; a task is a pair of 36 attributes, in training and in test",
        ),
        Info(
            "zappos-ood",
            ZapposOod,
            "Yu and Grauman, 'Fine-Grained Visual Comparisons with Local Learning' (CVPR 2014); "
            "tasks of 'Two Sides of Meta-Learning Evaluation', section 5 and appendix D.1",
            "the same shoes; novel tasks are pairs of 30 attributes that no training task has",
        ),
        Info(
            "image-folder",
            ImageFolder,
            "",
            "your own images: a folder, zip or tar [SUPERCLASS/]CLASS/image; listed or drawn split",
        ),
        Info(
            "features",
            Features,
            "",
            "features of a frozen extractor (CLIP, DINO) from an .npz file, for backbone identity",
        ),
    ),
    (
        Family(
            PREFIX,
            "benchmark",
            _in_distribution,
            "Two Sides of Meta-Learning Evaluation, appendix D.2, table 4 (IC)",
            "a benchmark's base classes only, tested on further examples of them",
        ),
    ),
)
