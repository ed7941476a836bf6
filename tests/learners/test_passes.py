"""Support and queries of a training step: apart through the backbone, or together."""

import copy

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from fsl_sweep.learners.batches import EpisodeBatch, EpisodeGroup, RaggedEpisodes
from fsl_sweep.learners.building import build_learner

LEARNERS = ["ridge", "meta-baseline"]  # the two that call `episode_loss`
JOINT = {"passes": "joint"}


def build(name, options):
    learner = {"name": name, **options}
    return build_learner(learner, {"name": "conv4", "width": 5}, (1, 16, 16), 4, seed=0).double()


def images(*shape, seed):
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, 1, 16, 16, generator=draws, dtype=torch.float64)


def embedded_apart(learner, support, query, together):
    """Features of support and queries by a copy, and its running averages afterwards."""
    network, counts = copy.deepcopy(learner), [len(support), len(query)]
    if together:
        parts = network.embed(torch.cat([support, query])).split(counts)
    else:
        parts = network.embed(support), network.embed(query)
    averages = {name: value for name, value in network.state_dict().items() if "running" in name}
    return *(part.detach() for part in parts), averages


def watched(learner):
    """The logits that the learner's head gives from now on."""
    head, seen = learner.head, []

    def watching(support, query):
        seen.append(head(support, query))
        return seen[-1]

    learner.head = watching
    return seen


def assert_loss(learner, batch, shapes, features, averages):
    """The loss is that of the head on these features, and the pass moved these averages."""
    head, logits = learner.head, watched(learner)
    loss = learner.training_loss(batch).item()
    expected = [
        head(features[0][support], features[1][query]).detach() for support, query, _ in shapes
    ]
    torch.testing.assert_close(logits, expected, rtol=1e-7, atol=1e-9)
    each = [
        -log_softmax(one.numpy(), axis=-1)[task, m, target[task, m]]
        for one, (_, _, target) in zip(expected, shapes, strict=True)
        for task, m in np.ndindex(*target.shape)
    ]
    weights = [1 / target.shape[1] for _, _, target in shapes for _ in target.flatten()]
    assert loss == pytest.approx(np.average(each, weights=weights), rel=1e-7)
    state = learner.state_dict()
    for name, average in averages.items():
        torch.testing.assert_close(state[name], average, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, JOINT], ids=["separate", "joint"])
@pytest.mark.parametrize("name", LEARNERS)
def test_episodes_of_one_shape_pass_as_by_a_copy(name, options):
    learner = build(name, options)
    batch = EpisodeBatch(images(2, 3, 2, seed=1), 2 * images(2, 3, 4, seed=2) + 1)
    *features, averages = embedded_apart(
        learner, batch.support.flatten(0, 2), batch.query.flatten(0, 2), options == JOINT
    )
    support, query = torch.arange(12).view(2, 3, 2), torch.arange(24).view(2, 12)
    target = torch.arange(3).repeat_interleave(4).expand(2, -1)
    assert_loss(learner, batch, [(support, query, target)], features, averages)


@pytest.mark.parametrize("options", [{}, JOINT], ids=["separate", "joint"])
@pytest.mark.parametrize("name", LEARNERS)
def test_episodes_that_differ_in_shape_pass_as_by_a_copy(name, options):
    """Two tasks of 2 classes and 3 queries, and one of 3 classes and 5."""
    learner = build(name, options)
    shapes = [
        (torch.arange(4).view(2, 2, 1), torch.arange(6).view(2, 3), torch.tensor([[0, 0, 1]] * 2)),
        (
            torch.arange(4, 7).view(1, 3, 1),
            torch.arange(6, 11)[None],
            torch.tensor([[0, 1, 1, 2, 2]]),
        ),
    ]
    groups = tuple(EpisodeGroup(*shape) for shape in shapes)
    batch = RaggedEpisodes(images(7, seed=1), 2 * images(11, seed=2) + 1, groups)
    *features, averages = embedded_apart(learner, batch.support, batch.query, options == JOINT)
    assert_loss(learner, batch, shapes, features, averages)


@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_learners_that_adapt_pass_support_and_queries_apart_anyway(name):
    learner = build_learner(
        {"name": name, "way": 3, "inner_steps": 2}, {"name": "conv4", "width": 4}, (1, 16, 16), 4, 0
    )
    passes = []
    learner.backbone.register_forward_hook(lambda _, given, __: passes.append(len(given[0])))
    learner.training_loss(
        EpisodeBatch(images(2, 3, 2, seed=1).float(), images(2, 3, 4, seed=2).float())
    )
    assert passes == [6, 6, 12] * 2
