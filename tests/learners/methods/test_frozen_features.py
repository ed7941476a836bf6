"""The learners that train as `Supervised` does, and what `Finetune` makes of it for a task."""

import copy

import pytest
import torch
from small import CONV, IDENTITY, SHAPE, build, labelled, normal
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.pretrained import PretrainedLearner

PRETRAINED = [n for n in LEARNERS.names() if issubclass(LEARNERS.find(n).cls, PretrainedLearner)]


@pytest.mark.parametrize("name", PRETRAINED)
def test_all_train_as_the_supervised_classifier_does(name):
    losses, slopes = [], []
    for learner in (build(name), build("supervised")):
        assert learner.classifier.bias.tolist() == [0.0] * 5
        assert learner.classifier.weight.std() > 0
        losses.append(learner.training_loss(labelled()))
        losses[-1].backward()
        slopes.append(learner.backbone.blocks[0][0].weight.grad)
    assert torch.equal(*losses)
    assert torch.equal(*slopes)


def reference_finetuning(learner, support, query, rate, steps=30):
    """The same with torch's modules, optimizer and schedule."""
    way, shot = support.shape[:2]
    backbone = copy.deepcopy(learner.backbone)
    head = nn.Linear(backbone.feature_dim, way).to(support.dtype)
    nn.init.ones_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(
        [{"params": backbone.parameters(), "lr": rate}, {"params": head.parameters(), "lr": 0.1}],
        momentum=0.9,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    labels = torch.arange(way).repeat_interleave(shot)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(head(normalize(backbone(support.flatten(0, 1)), dim=-1)), labels).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return head(normalize(backbone(query), dim=-1))


@pytest.mark.parametrize(
    ("backbone", "shape", "options"),
    [
        (CONV, SHAPE, {}),
        (CONV, SHAPE, {"backbone_lr": 0}),
        (CONV, SHAPE, {"backbone_lr": 0.1}),
        (IDENTITY, (5, 1, 1), {}),
    ],
    ids=str,
)
def test_finetuning_is_gradient_descent_with_momentum_and_a_half_cosine(backbone, shape, options):
    learner = build("finetune", backbone, shape, **options).double().eval()
    support, query = normal(2, 3, 2, *shape, seed=1), normal(2, 5, *shape, seed=2)
    logits, rate = learner.predict(support, query), options.get("backbone_lr", 1e-4)
    for task in range(2):
        expected = reference_finetuning(learner, support[task], query[task], rate)
        torch.testing.assert_close(logits[task], expected, rtol=1e-9, atol=1e-12)
