"""`Ncc`, `Logistic` and `Finetune`: adaptation of what `Supervised` trains."""

import copy

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.pretrained import PretrainedLearner

CONV = {"name": "conv4", "width": 4}
PRETRAINED = [n for n in LEARNERS.names() if issubclass(LEARNERS.find(n).cls, PretrainedLearner)]


def images(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def build(name, backbone=CONV, shape=(1, 16, 16), **options):
    return build_learner({"name": name, **options}, backbone, shape, 6, seed=0).eval()


def frozen(name, d=5, **options):
    return build(name, {"name": "identity"}, (d, 1, 1), **options)


def unit(values):
    values = values.numpy()
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


@pytest.mark.parametrize("name", PRETRAINED)
def test_all_train_as_the_supervised_classifier_does(name):
    batch = LabelledBatch(images(12, 1, 16, 16), torch.arange(12) % 6)
    losses, gradients = [], []
    for one in (name, "supervised"):
        learner = build(one).train()
        loss = learner.training_loss(batch)
        loss.backward()
        losses.append(loss)
        gradients.append(learner.backbone.blocks[0][0].weight.grad)
    assert torch.equal(*losses)
    assert torch.equal(*gradients)


def test_ncc_logits_are_ten_times_the_cosine_to_the_mean_of_unit_features():
    learner = frozen("ncc")
    support, query = images(2, 3, 4, 5, seed=1), images(2, 6, 5, seed=2)
    embedded = learner.embed(support.reshape(-1, 5, 1, 1)).view(support.shape)
    logits = learner.head(embedded, learner.embed(query.reshape(-1, 5, 1, 1)).view(query.shape))
    centroids = unit(torch.from_numpy(unit(support).mean(axis=2)))
    expected = 10 * np.einsum("tmd,tnd->tmn", unit(query), centroids)
    np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_logistic_fits_unit_features_with_a_c_of_one():
    learner = frozen("logistic").double()
    support, query = images(1, 3, 4, 5, seed=1).double(), images(1, 6, 5, seed=2).double()
    embedded = learner.embed(support.reshape(-1, 5, 1, 1)).view(support.shape)
    logits = learner.head(embedded, learner.embed(query.reshape(-1, 5, 1, 1)).view(query.shape))
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    model.fit(unit(support).reshape(-1, 5), np.arange(3).repeat(4))
    expected = model.predict_proba(unit(query)[0])
    np.testing.assert_allclose(logits[0].softmax(dim=-1).numpy(), expected, atol=1e-6)


def reference_finetuning(learner, support, query, steps=30):
    """The same with torch's modules, optimizer and schedule."""
    way, shot = support.shape[:2]
    backbone = copy.deepcopy(learner.backbone)
    head = nn.Linear(backbone.feature_dim, way).to(support.dtype)
    nn.init.ones_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(
        [{"params": backbone.parameters(), "lr": 1e-4}, {"params": head.parameters(), "lr": 0.1}],
        momentum=0.9,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    labels = torch.arange(way).repeat_interleave(shot)
    for _ in range(steps):
        optimizer.zero_grad()
        logits = head(nn.functional.normalize(backbone(support.flatten(0, 1)), dim=-1))
        nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return head(nn.functional.normalize(backbone(query), dim=-1))


def test_finetuning_is_gradient_descent_with_momentum_and_a_half_cosine():
    learner = build("finetune").double()
    support = images(2, 3, 2, 1, 16, 16, seed=1).double()
    query = images(2, 5, 1, 16, 16, seed=2).double()
    found = learner.predict(support, query)
    for task in range(2):
        expected = reference_finetuning(learner, support[task], query[task])
        torch.testing.assert_close(found[task], expected, rtol=1e-9, atol=1e-12)


def test_finetuning_changes_the_backbone_unless_its_rate_is_zero():
    support, query = images(1, 3, 2, 1, 16, 16), images(1, 5, 1, 16, 16, seed=2)
    answers = {r: build("finetune", backbone_lr=r).predict(support, query) for r in (0, 1e-9, 0.1)}
    torch.testing.assert_close(answers[0], answers[1e-9], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(answers[0], answers[0.1], rtol=1e-3, atol=1e-3)


def test_finetuning_on_precomputed_features_trains_a_classifier_only():
    learner = frozen("finetune").double()
    support, query = images(1, 3, 2, 5, 1, 1).double(), images(1, 5, 5, 1, 1, seed=2).double()
    expected = reference_finetuning(learner, support[0], query[0])
    torch.testing.assert_close(learner.predict(support, query)[0], expected, rtol=1e-9, atol=1e-12)
