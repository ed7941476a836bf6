"""Every learner of the catalogue passes the contract; one added later is covered by its name."""

import math
from typing import ClassVar

import pytest
import torch
from small import SHAPE
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
CONTRACTS = {}
for _name in LEARNERS.names():
    _learner = LEARNERS.find(_name).cls
    if not issubclass(_learner, Metadl):  # a program is tried by what it runs
        _few_shot = not issubclass(_learner, ClassificationLearner)
        _base = LearnerContract if _few_shot else ClassificationContract
        _members = {"learner": _learner, **FLAGS.get(_name, {})}
        CONTRACTS[_name] = type(f"Test{_name.title().replace('-', '')}", (_base,), _members)
globals().update({contract.__name__: contract for contract in CONTRACTS.values()})


class TestConv4(BackboneContract):
    backbone = Conv4
    backbone_options: ClassVar = {"width": 8}


FEW_SHOT = [name for name, contract in CONTRACTS.items() if issubclass(contract, LearnerContract)]


@pytest.mark.parametrize("name", FEW_SHOT)
@pytest.mark.parametrize(("way", "shot"), [(1, 3), (5, 0)])
def test_nothing_to_tell_apart_or_to_learn_from_is_an_error(name, way, shot):
    learner = CONTRACTS[name]()._ready()
    answer, shape = (learner.head, (8,)) if hasattr(learner, "head") else (learner.predict, SHAPE)
    with pytest.raises(ValueError, match="at least 2 classes"):
        answer(torch.randn(2, way, shot, *shape), torch.randn(2, 4, *shape))


class Careless(EpisodicLearner):
    """Breaks the rule that `fault` names."""

    Options, fault = ProtonetOptions, ""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.hidden = torch.randn(())

    def embed(self, images):
        features = self.backbone(images)
        return features + features.mean(dim=0) if self.fault == "embed" else features

    def head(self, support, query):
        centres = support[:, :, 0] if self.fault == "order" else support.mean(dim=2)
        match self.fault:
            case "classes":
                centres = centres + torch.arange(support.shape[1])[:, None]
            case "queries" | "tasks":
                query = query - query.mean(dim=int(self.fault == "queries"), keepdim=True)
            case "draws":
                query = query + torch.randn_like(query)
            case "state":
                query = query + self.hidden
            case "precision":
                query = query.half().to(query) if query.dtype == torch.float32 else query
        logits = -torch.cdist(query, centres)
        return logits.nan_to_num() if self.fault.startswith("silent") else logits


class CarelessNet(Backbone):
    """Breaks the rule that `fault` names."""

    Options, fault = Options, ""

    def __init__(self, options, image_shape):
        super().__init__(options, image_shape)
        self.layer = nn.Linear(math.prod(image_shape), 12)
        self.feature_dim = 13 if self.fault == "width" else 12
        self.seen = nn.Buffer(torch.zeros(()))

    def forward(self, images):
        if self.fault == "shape":
            images = images[..., -1:].expand(-1, *self.image_shape)
        check_images(images, self.image_shape)
        features = self.layer(images.flatten(1))
        self.seen += self.fault == "counts"
        if self.fault == "images":
            return features - features.mean(dim=0)
        return features + torch.randn_like(features) if self.fault == "draws" else features


SUITES = {"learner": (LearnerContract, Careless), "backbone": (BackboneContract, CarelessNet)}
BREAKS = [
    ("learner", "order", "the_order_within_a_class_does_not_matter"),
    ("learner", "classes", "permuted_classes_permute_the_logits"),
    ("learner", "queries", "queries_do_not_see_each_other"),
    ("learner", "tasks", "tasks_do_not_see_each_other"),
    ("learner", "draws", "equal_seeds_give_equal_answers"),
    ("learner", "state", "a_saved_learner_answers_as_before"),
    ("learner", "embed", "a_pool_embedded_once_gives_the_same_answers"),
    ("learner", "precision", "float32_is_close_to_float64"),
    ("learner", "silent on no examples", "no_examples_are_not_answered_silently"),
    ("learner", "silent", "nan_is_not_answered_silently"),
    ("backbone", "width", "features_are_as_wide_as_it_says_and_other_images_are_refused"),
    ("backbone", "shape", "features_are_as_wide_as_it_says_and_other_images_are_refused"),
    ("backbone", "draws", "equal_seeds_give_equal_answers"),
    ("backbone", "images", "tasks_do_not_see_each_other"),
    ("backbone", "counts", "answering_changes_nothing"),
]


@pytest.mark.parametrize(("part", "fault", "rule"), BREAKS)
def test_the_contract_notices(part, fault, rule):
    suite, careless = SUITES[part]

    def keep(fault):
        broken = type("Broken", (careless,), {"fault": fault})
        members = {part: broken, "image_shape": (3, 17, 16), "tolerance": 1e-5}
        getattr(type("Suite", (suite,), members)(), f"test_{rule}")()

    keep("")
    with pytest.raises(AssertionError):
        keep(fault)
