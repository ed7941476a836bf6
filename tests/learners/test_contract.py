"""Every learner of the catalogue passes the contract; one added later is covered by its name."""

from collections import defaultdict
from itertools import count
from typing import ClassVar

import pytest
import torch
from small import SHAPE

from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.learners.testing import BackboneContract, ClassificationContract, LearnerContract

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


def answer(self, support, query):
    """A head that keeps every rule; those below each break one."""
    return -torch.cdist(query, support.mean(dim=2))


def rounded(query):
    return query.half().float() if query.dtype == torch.float32 else query


def centred(features):
    return features - features.mean(dim=0)


def noisy(features):
    return features + torch.randn_like(features)


def stretched(self, images):
    return forward(self, images[..., -1:].expand(-1, *self.image_shape))


def counting(self, images):
    self.blocks[0][1].num_batches_tracked += 1
    return forward(self, images)


forward = Conv4.forward
hidden = defaultdict(count().__next__)  # what no snapshot holds
HEADS = {
    "the_order_within_a_class_does_not_matter": lambda _, s, q: answer(_, s[:, :, :1], q),
    "permuted_classes_permute_the_logits": lambda *x: answer(*x) + torch.arange(x[1].shape[1]),
    "queries_do_not_see_each_other": lambda _, s, q: answer(_, s, q - q.mean(1, keepdim=True)),
    "tasks_do_not_see_each_other": lambda _, s, q: answer(_, s, q - q.mean(0, keepdim=True)),
    "equal_seeds_give_equal_answers": lambda *x: noisy(answer(*x)),
    "a_saved_learner_answers_as_before": lambda *x: answer(*x) + hidden[x[0]],
    "float32_is_close_to_float64": lambda _, s, q: answer(_, s, rounded(q)),
    "no_examples_are_not_answered_silently": lambda *x: answer(*x).nan_to_num(),
    "nan_is_not_answered_silently": lambda *x: answer(*x).nan_to_num(),
}
WIDE = "features_are_as_wide_as_it_says_and_other_images_are_refused"
POOL = "a_pool_embedded_once_gives_the_same_answers"
BREAKS = [
    *((LearnerContract, rule, "head", head) for rule, head in HEADS.items()),
    (LearnerContract, POOL, "embed", lambda self, x: centred(self.backbone(x))),
    (BackboneContract, WIDE, "feature_dim", property(lambda self: 9, lambda *_: None)),
    (BackboneContract, WIDE, "forward", stretched),
    (BackboneContract, "equal_seeds_give_equal_answers", "forward", lambda *x: noisy(forward(*x))),
    (BackboneContract, "tasks_do_not_see_each_other", "forward", lambda *x: centred(forward(*x))),
    (BackboneContract, "answering_changes_nothing", "forward", counting),
]


@pytest.mark.parametrize(("suite", "rule", "member", "fault"), BREAKS)
def test_the_contract_notices(suite, rule, member, fault):
    def keep(**members):
        if suite is LearnerContract:
            part = {"learner": type("Tried", (Protonet,), {"head": answer, **members})}
        else:
            part = {"backbone": type("Tried", (Conv4,), members)}
        getattr(type("Suite", (suite,), {**part, "tolerance": 1e-5})(), f"test_{rule}")()

    keep()
    with pytest.raises(AssertionError):
        keep(**{member: fault})
