"""The learners and backbones that a sweep file can name."""

from typing import Any

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.backbones.identity import Identity
from fsl_sweep.learners.backbones.resnet12 import ResNet12
from fsl_sweep.learners.backbones.torchvision import is_torchvision_model, torchvision_backbone
from fsl_sweep.learners.backbones.wrn import WRN16x10
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.classifier import Classifier
from fsl_sweep.learners.conv_qda import ConvQda
from fsl_sweep.learners.finetune import Finetune
from fsl_sweep.learners.fomaml import Fomaml
from fsl_sweep.learners.logistic import Logistic
from fsl_sweep.learners.maml import Maml
from fsl_sweep.learners.meta_baseline import MetaBaseline
from fsl_sweep.learners.metadelta import MetaDelta
from fsl_sweep.learners.metadl import Metadl
from fsl_sweep.learners.ncc import Ncc
from fsl_sweep.learners.protonet import Protonet
from fsl_sweep.learners.pt_map import PtMap
from fsl_sweep.learners.ridge import Ridge
from fsl_sweep.learners.supervised import Supervised
from fsl_sweep.learners.svm import Svm
from fsl_sweep.learners.transfer import Transfer
from fsl_sweep.orchestrator.catalogue import Catalogue, Family, Info

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
            "svm",
            Svm,
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "maximum-margin classifier solved for each task, trained on episodes",
        ),
        Info(
            "supervised",
            Supervised,
            "Lessons from Chasing Few-Shot Learning Benchmarks, table 4",
            "classifier over all base classes, tested as nearest class mean",
        ),
        Info(
            "fomaml",
            Fomaml,
            "Model-Agnostic Meta-Learning, arXiv 1703.03400, section 5.2",
            "network adapted to each task by gradient descent, first-order outer gradient",
        ),
        Info(
            "maml",
            Maml,
            "Model-Agnostic Meta-Learning, arXiv 1703.03400",
            "network adapted to each task by gradient descent, trained through the adaptation",
        ),
        Info(
            "meta-baseline",
            MetaBaseline,
            "Meta-Baseline: Exploring Simple Meta-Learning, arXiv 2003.04390",
            "classifier over all base classes, then trained on episodes by cosine",
        ),
        Info(
            "ncc",
            Ncc,
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "frozen features, cosine to the class centroid",
        ),
        Info(
            "logistic",
            Logistic,
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "frozen features, logistic regression fitted to each task",
        ),
        Info(
            "finetune",
            Finetune,
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "classifier over all base classes, trained on with each task's support",
        ),
        Info(
            "transfer",
            Transfer,
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 4.3",
            "frozen features, new softmax layer trained briefly on each task",
        ),
        Info(
            "metadelta",
            MetaDelta,
            "MetaDelta, arXiv 2102.10744; Advances in MetaDL, section 4.4",
            "ensemble of encoders, soft prototypes; transductive",
        ),
        Info(
            "pt-map",
            PtMap,
            "Leveraging the Feature Distribution in Transfer-based Few-Shot Learning, "
            "arXiv 2006.03806",
            "power transform and optimal transport to class centres; transductive",
        ),
        Info(
            "conv-qda",
            ConvQda,
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 4.4",
            "quadratic discriminant analysis of features, trained on episodes",
        ),
        Info(
            "classifier",
            Classifier,
            "Two Sides of Meta-Learning Evaluation, figure 2(b) and table 4",
            "plain image classification, on an in-distribution benchmark alone",
        ),
        Info(
            "metadl",
            Metadl,
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 3.2",
            "runs a program with the challenge's meta_fit, fit and predict",
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
        Info(
            "wrn-16-10",
            WRN16x10,
            "Wide Residual Networks, arXiv 1605.07146",
            "wide residual network of 16 layers, widening factor 10",
        ),
        Info("identity", Identity, "", "images are precomputed features; nothing to train"),
    ],
    [
        Family(
            "torchvision",
            "model",
            torchvision_backbone,
            "",
            "a classification model of torchvision without its classifier, from random weights",
            is_torchvision_model,
        ),
    ],
)
