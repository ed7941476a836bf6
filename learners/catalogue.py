"""The learners and backbones that a sweep file can name."""

from typing import Any

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.backbones.identity import Identity
from fsl_sweep.learners.backbones.resnet12 import ResNet12
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.protonet import Protonet
from fsl_sweep.learners.ridge import Ridge
from fsl_sweep.learners.supervised import Supervised
from fsl_sweep.orchestrator.catalogue import Catalogue, Info

LEARNERS: Catalogue[Learner[Any]] = Catalogue(
    "learner",
    "fsl_sweep.learners",
    [
        Info(
            "protonet",
            Protonet,
            "Prototypical Networks for Few-shot Learning, arXiv 1703.05175",
            "nearest class mean, trained on episodes",
        ),
        Info(
            "ridge",
            Ridge,
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "ridge regression solved for each task, trained on episodes",
        ),
        Info(
            "supervised",
            Supervised,
            "Lessons from Chasing Few-Shot Learning Benchmarks, table 4",
            "classifier over all base classes, tested as nearest class mean",
        ),
    ],
)

BACKBONES: Catalogue[Backbone] = Catalogue(
    "backbone",
    "fsl_sweep.backbones",
    [
        Info(
            "conv4",
            Conv4,
            "Prototypical Networks for Few-shot Learning, arXiv 1703.05175, section 3.1",
            "four convolutional blocks",
        ),
        Info(
            "resnet12",
            ResNet12,
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "residual network of 12 layers with DropBlock",
        ),
        Info("identity", Identity, "", "images are precomputed features; nothing to train"),
    ],
)
