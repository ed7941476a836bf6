"""Every learner of the catalogue passes the contract; one added later is covered by its name."""

import math
from typing import ClassVar

import pytest
import torch
from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, check_images
from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.episodic import EpisodicLearner
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.methods.protonet import ProtonetOptions
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.testing.backbone import BackboneContract
from fsl_sweep.learners.testing.classification import ClassificationContract
from fsl_sweep.learners.testing.learner import LearnerContract

# Transductive heads see the queries together; initial weights are drawn for each class.
# A classifier whose outputs were meta-learned knows one class from another; batch norm by the
# statistics of the batch lets the queries of a task see one another.
META_LEARNED = {
    "follows_classes": False,
    "answers_alone": False,
    "options": {"inner_steps": 2, "inner_steps_test": 4},
}
FLAGS = {
    "finetune": {"options": {"steps": 2}},
    "fomaml": META_LEARNED,
    "maml": META_LEARNED,
    "metadelta": {"answers_alone": False, "options": {"encoders": 2}},
    # Where lambda makes a plan hard, its logarithm is a matter of rounding; its order is not.
    "pt-map": {"answers_alone": False, "options": {"rounds": 5, "lam": 2}},
    "transfer": {"follows_classes": False},
}

for _name in LEARNERS.names():
    _learner = LEARNERS.find(_name).cls
    if issubclass(_learner, Metadl):
        continue  # a program is tried by what it runs, in test_metadl.py
    _contract = (
        ClassificationContract if issubclass(_learner, ClassificationLearner) else LearnerContract
    )
    _members = {"learner": _learner, **FLAGS.get(_name, {})}
    _title = f"Test{_name.title().replace('-', '')}"
    globals()[_title] = type(_title, (_contract,), _members)


TASKS_ALONE = [
    name for name in LEARNERS.names() if hasattr(LEARNERS.find(name).cls, "head") or name in FLAGS
]


@pytest.mark.parametrize("name", TASKS_ALONE)
@pytest.mark.parametrize(("way", "shot"), [(1, 3), (5, 0)])
def test_nothing_to_tell_apart_or_to_learn_from_is_an_error(name, way, shot):
    members = {"learner": LEARNERS.find(name).cls, **FLAGS.get(name, {})}
    learner = type("Contract", (LearnerContract,), members)()._ready()
    shape, answer = ((8,), learner.head) if hasattr(learner, "head") else ((1, 16, 16), None)
    support, query = torch.randn(2, way, shot, *shape), torch.randn(2, 4, *shape)
    with pytest.raises(ValueError, match="at least 2 classes"):
        (answer or learner.predict)(support, query)


class Careless(EpisodicLearner):
    """Breaks the rule that `fault` names."""

    Options = ProtonetOptions
    fault = ""

    def __init__(self, backbone: Backbone, options: ProtonetOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.hidden = torch.randn(())

    def embed(self, images):
        features = self.backbone(images)
        return features + features.mean(dim=0) if self.fault == "embed" else features

    def head(self, support, query):
        centres = support.mean(dim=2)
        if self.fault == "order":
            centres = support[:, :, 0]
        if self.fault == "classes":
            centres = centres + torch.arange(support.shape[1])[:, None]
        if self.fault == "queries":
            query = query - query.mean(dim=1, keepdim=True)
        if self.fault == "tasks":
            query = query - query.mean(dim=0, keepdim=True)
        if self.fault == "draws":
            query = query + torch.randn_like(query)
        if self.fault == "state":
            query = query + self.hidden
        if self.fault == "precision":
            query, centres = query.half().to(query), centres.half().to(centres)
        logits = -torch.cdist(query, centres)
        return logits.nan_to_num() if self.fault.startswith("silent") else logits


BREAKS = {
    "order": LearnerContract.test_the_order_within_a_class_does_not_matter,
    "classes": LearnerContract.test_permuted_classes_permute_the_logits,
    "queries": LearnerContract.test_queries_do_not_see_each_other,
    "tasks": LearnerContract.test_tasks_do_not_see_each_other,
    "draws": LearnerContract.test_equal_seeds_give_equal_answers,
    "state": LearnerContract.test_a_saved_learner_answers_as_before,
    "embed": LearnerContract.test_a_pool_embedded_once_gives_the_same_answers,
    "silent on no examples": LearnerContract.test_no_examples_are_not_answered_silently,
    "silent": LearnerContract.test_nan_is_not_answered_silently,
}


def contract_of(fault):
    broken = type("Broken", (Careless,), {"fault": fault})
    return type("Contract", (LearnerContract,), {"learner": broken, "tolerance": 1e-5})()


@pytest.mark.parametrize("fault", BREAKS)
def test_the_contract_notices(fault):
    BREAKS[fault](contract_of(""))
    with pytest.raises(AssertionError):
        BREAKS[fault](contract_of(fault))


class TestConv4(BackboneContract):
    backbone = Conv4
    backbone_options: ClassVar = {"width": 8}


class CarelessNet(Backbone):
    """Breaks the rule that `fault` names."""

    Options, feature_dim, fault = Options, 12, ""

    def __init__(self, options, image_shape):
        super().__init__(options, image_shape)
        self.layer = nn.LazyLinear(12)
        self.layer(torch.zeros(1, math.prod(image_shape)))
        self.feature_dim = 13 if self.fault == "width" else 12
        self.seen = nn.Buffer(torch.zeros(()))

    def forward(self, images):
        if self.fault == "shape":
            images = images[..., -1:].expand(-1, *self.image_shape)
        check_images(images, self.image_shape)
        features = self.layer(images.flatten(1))
        if self.fault == "draws":
            features = features + torch.randn_like(features)
        if self.fault == "images":
            features = features - features.mean(dim=0)
        if self.fault == "counts":
            self.seen += 1
        return features


OF_BACKBONES = {
    "width": BackboneContract.test_features_are_as_wide_as_it_says_and_other_images_are_refused,
    "shape": BackboneContract.test_features_are_as_wide_as_it_says_and_other_images_are_refused,
    "draws": BackboneContract.test_equal_seeds_give_equal_answers,
    "images": BackboneContract.test_tasks_do_not_see_each_other,
    "counts": BackboneContract.test_answering_changes_nothing,
}


@pytest.mark.parametrize("fault", OF_BACKBONES)
def test_the_contract_of_backbones_notices(fault):
    def contract(fault):
        members = {"backbone": type("Net", (CarelessNet,), {"fault": fault})}
        return type("Contract", (BackboneContract,), {**members, "image_shape": (3, 9, 8)})()

    OF_BACKBONES[fault](contract(""))
    with pytest.raises(AssertionError):
        OF_BACKBONES[fault](contract(fault))
