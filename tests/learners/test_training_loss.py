"""The loss of a training step, whose support and queries pass apart or together."""

import copy

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from small import SHAPE, build, episodes, labelled, normal, on_features, unit

from fsl_sweep.learners.batches import EpisodeBatch, EpisodeGroup, RaggedEpisodes


def of_one_shape():
    """Two tasks of 3 classes; their images in one row, and the places of each task in it."""
    batch = EpisodeBatch(normal(2, 3, 2, *SHAPE), 2 * normal(2, 3, 4, *SHAPE) + 1)
    target = torch.arange(3).repeat_interleave(4).expand(2, -1)
    group = EpisodeGroup(torch.arange(12).view(2, 3, 2), torch.arange(24).view(2, 12), target)
    return batch, batch.support.flatten(0, 2), batch.query.flatten(0, 2), [group]


def of_two_shapes():
    """Two tasks of 2 classes and 3 queries, and one of 3 classes and 5."""
    rows = torch.arange(11)
    groups = (
        EpisodeGroup(rows[:4].view(2, 2, 1), rows[:6].view(2, 3), torch.tensor([[0, 0, 1]] * 2)),
        EpisodeGroup(rows[4:7].view(1, 3, 1), rows[None, 6:], torch.tensor([[0, 1, 1, 2, 2]])),
    )
    batch = RaggedEpisodes(normal(7, *SHAPE), 2 * normal(11, *SHAPE) + 1, groups)
    return batch, batch.support, batch.query, groups


def task_loss(logits, target, smoothing):
    """Of the queries of a task; smoothing shares equally among the other classes."""
    logp, way = log_softmax(logits.detach().numpy(), axis=-1), logits.shape[-1]
    wanted = np.full(logp.shape, smoothing / (way - 1))
    wanted[np.arange(len(target)), target] = 1 - smoothing
    return -(wanted * logp).sum(axis=1).mean()


@pytest.mark.parametrize("drawn", [of_one_shape, of_two_shapes])
@pytest.mark.parametrize(
    ("name", "options"),  # the two that call `episode_loss`
    [
        ("ridge", {}),
        ("ridge", {"passes": "joint"}),
        ("ridge", {"label_smoothing": 0.1}),
        ("meta-baseline", {}),
        ("meta-baseline", {"passes": "joint"}),
    ],
    ids=str,
)
def test_the_loss_is_the_heads_on_features_of_the_passes_and_moves_the_averages(
    name, options, drawn
):
    learner = build(name, **options).double()
    batch, support, query, groups = drawn()
    network = copy.deepcopy(learner)
    if options.get("passes") == "joint":
        features = network.embed(torch.cat([support, query])).split([len(support), len(query)])
    else:
        features = network.embed(support), network.embed(query)
    losses = []
    for group in groups:
        logits = network.head(features[0][group.support], features[1][group.query])
        smoothing = options.get("label_smoothing", 0)
        losses += [task_loss(*t, smoothing) for t in zip(logits, group.target, strict=True)]
    assert learner.training_loss(batch).item() == pytest.approx(np.mean(losses), rel=1e-9)
    averages = {k: v for k, v in network.state_dict().items() if "running" in k}
    state = {key: learner.state_dict()[key] for key in averages}
    torch.testing.assert_close(state, averages, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["classifier", "supervised"])
def test_the_loss_among_base_classes_is_cross_entropy_of_a_linear_classifier(name):
    learner, batch = on_features(name, 16), labelled(9, shape=(16, 1, 1), dtype=torch.float64)
    vectors = batch.images.flatten(1).numpy()
    weight, bias = (p.detach().numpy() for p in learner.classifier.parameters())
    if name == "classifier":
        logits = vectors @ weight.T + bias
        np.testing.assert_allclose(learner.classify(batch.images).detach(), logits, rtol=1e-9)
    else:
        logits = 10 * (unit(vectors) @ weight.T + bias)
    expected = task_loss(torch.from_numpy(logits), batch.labels, 0)
    assert learner.training_loss(batch).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["protonet", "ridge", "supervised", "classifier", "fomaml", "maml"]
)
def test_training_under_bfloat16_gives_a_float32_loss_and_gradients(name):
    learner = build(name, **({"way": 3} if name.endswith("maml") else {}))
    batch = episodes() if learner.trains_on == "episodes" else labelled()
    exact = learner.training_loss(batch).item()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = learner.training_loss(batch)
    loss.backward()
    assert loss.dtype == torch.float32
    assert abs(loss.item() - exact) < 0.2
    assert all(p.grad.isfinite().all() for p in learner.parameters() if p.requires_grad)
