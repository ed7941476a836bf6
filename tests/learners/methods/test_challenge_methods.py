"""The methods of the 2021 challenge: `Transfer`, `MetaDelta`, `PtMap` and `ConvQda`."""

import numpy as np
import pydantic
import pytest
import torch
from scipy.special import softmax
from small import build, features, labelled, normal, on_features, unit
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.heads.prototype import soft_prototype_probabilities
from fsl_sweep.learners.methods.pt_map import prepared


def test_transfer_trains_a_glorot_layer_of_its_seed_with_adam():
    learner, like = on_features("transfer"), torch.zeros(1, 1, 2001, dtype=torch.float64)
    wide, bound = learner.initial_layer(5, like), (6 / 2005) ** 0.5
    assert 0.99 * bound < wide.abs().max() <= bound
    assert abs(wide[:-1].std() / (bound / 3**0.5) - 1) < 0.05
    assert (wide[-1] == 0).all()
    assert not torch.equal(wide, on_features("transfer", seed=1).initial_layer(5, like))
    support, query = features(3, 2)
    logits, start = learner.head(support, query), learner.initial_layer(3, like[..., :7])
    for task in range(2):
        layer = nn.Linear(6, 3).double()
        with torch.no_grad():
            layer.weight.copy_(start[:-1].T)
            layer.bias.zero_()
        optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3, eps=1e-7)
        for _ in range(10):
            optimizer.zero_grad()
            answers = layer(support[task].flatten(0, 1))
            cross_entropy(answers, torch.tensor([0, 0, 1, 1, 2, 2])).backward()
            optimizer.step()
        torch.testing.assert_close(logits[task], layer(query[task]).detach())


def test_soft_prototypes_follow_their_definition():
    support, query = features(3, 2, tasks=1)
    S, Q = unit(support[0]), unit(query[0])
    centres, chances = S.mean(axis=1), None
    for _ in range(11):
        chances = softmax(-np.square(Q[:, None] - unit(centres)).sum(axis=-1), axis=1)
        totals = S.sum(axis=1) + chances.T @ Q
        centres = totals / (2 + chances.sum(axis=0))[:, None]
    answers = soft_prototype_probabilities(support, query)[0]
    np.testing.assert_allclose(answers.numpy(), chances, rtol=1e-9)


def test_metadelta_trains_each_encoder_as_if_alone_and_averages_their_probabilities():
    learner, batch = build("metadelta", encoders=3), labelled()
    learner.training_loss(batch).backward()
    for backbone, classifier in zip(learner.backbones, learner.classifiers, strict=True):
        weight = backbone.blocks[0][0].weight
        logits = 10 * classifier(normalize(backbone(batch.images), dim=-1))
        (slope,) = torch.autograd.grad(cross_entropy(logits, batch.labels), weight)
        torch.testing.assert_close(weight.grad, slope)
    features, chances = learner.eval().embed(batch.images), []
    assert features.shape == (12, 12)
    for backbone in learner.backbones:
        part = normalize(backbone(batch.images), dim=-1)
        chances.append(soft_prototype_probabilities(part[:6].view(1, 3, 2, 4), part[6:][None]))
    logits = learner.head(features[:6].view(1, 3, 2, 12), features[6:][None])
    torch.testing.assert_close(logits.exp(), sum(chances) / 3)
    assert not torch.allclose(*chances[:2])


def test_metadeltas_encoders_may_be_of_different_kinds_that_are_known():
    encoders = [{"name": "conv4", "width": 8}, {"name": "torchvision:squeezenet1_1"}]
    learner = build("metadelta", shape=(3, 32, 32), encoders=encoders)
    assert learner.widths == [16, 32, 512]
    assert len(learner.classifiers) == 3
    with pytest.raises(pydantic.ValidationError, match="did you mean 'conv4'"):
        build("metadelta", encoders=[{"name": "conv5"}])


def reference_pt_map(support, query, lam, alpha=0.2, rounds=20):
    """Algorithm 1 with numpy and Sinkhorn's rule, for one task of non-negative features."""
    way, shot, _ = support.shape

    def ready(values):
        values = unit(np.sqrt(values + 1e-6))
        return unit(values - values.mean(axis=0))

    def plan(centres):
        shares = np.exp(-lam * np.square(queries[:, None] - centres).sum(axis=-1))
        for _ in range(1000):
            shares /= shares.sum(axis=1, keepdims=True)
            shares *= len(queries) / way / shares.sum(axis=0)
        return shares

    examples = ready(support.reshape(way * shot, -1)).reshape(support.shape)
    queries = ready(query)
    centres = examples.mean(axis=1)
    for _ in range(rounds):
        shares = plan(centres)
        totals = examples.sum(axis=1) + shares.T @ queries
        centres = centres + alpha * (totals / (shot + shares.sum(axis=0))[:, None] - centres)
    return plan(centres)


# With the default lambda, Sinkhorn's rule itself is still 1e-3 from the plan after 1,000 turns.
@pytest.mark.parametrize(("lam", "tolerance"), [(2.0, 1e-8), (10.0, 2e-3)])
def test_pt_map_follows_its_algorithm(lam, tolerance):
    support, query = normal(1, 3, 2, 6).abs(), normal(1, 9, 6, seed=1).abs()
    plan = on_features("pt-map", lam=lam).head(support, query).exp().numpy()
    expected = reference_pt_map(support[0].numpy(), query[0].numpy(), lam)
    np.testing.assert_allclose(plan[0], expected, atol=tolerance)


def test_the_power_transform_keeps_the_sign_of_negative_features():
    vectors = normal(1, 5, 6)
    torch.testing.assert_close(prepared(-vectors, 0.5), -prepared(vectors, 0.5))
