"""The losses of snapshots on tasks, against plain numpy and against the loss of training."""

import copy

import numpy as np
import pytest
import torch
from evaluated import CPU, built, images_by_hand
from scipy.special import log_softmax

from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.losses import losses_of


def averaged(data, name, **options):
    """A learner whose running averages are not those of any batch."""
    learner = built(data, name, **options)
    with torch.no_grad():
        for module in learner.modules():
            if isinstance(getattr(module, "running_mean", None), torch.Tensor):
                module.running_mean += 0.1
    return learner


def sets(data, tasks=7):
    rng = np.random.default_rng(3)
    fixed = FixedSupportTasks(data.train, 2, rng, "all")
    return [of.sample(tasks, EpisodeShape(3, 2, 4), rng) for of in (data.train, fixed)]


def ragged(data):
    shape, rng = EpisodeShape(3, 2, 2), np.random.default_rng(0)
    return MultinomialQueries(data.train).sample(9, shape, rng)


def losses(learner, data, episodes):
    return losses_of(learner, PoolImages(data.train.pool, data, CPU), episodes)


TRIED = {
    "protonet": {},
    "ridge": {"label_smoothing": 0.1},
    "meta-baseline": {},
    "fomaml": {"way": 3, "inner_steps": 2, "inner_steps_test": 9, "inner_lr": 0.3},
    "maml": {"way": 3, "inner_steps": 2, "batch_norm": "running"},
}


@pytest.mark.parametrize("name", TRIED)
def test_their_mean_is_the_loss_of_training_in_evaluation_mode(data, name):
    learner, drawn = averaged(data, name, **TRIED[name]), sets(data)
    state = copy.deepcopy(learner.state_dict())
    for episodes, each in zip(drawn, losses(learner, data, drawn), strict=True):
        assert each.shape == np.unique(each).shape == (7,)
        parts = (episodes.support, episodes.query)
        batch = EpisodeBatch(*(images_by_hand(data, data.train.pool, part) for part in parts))
        expected = learner.training_loss(batch).item()
        assert each.mean() == pytest.approx(expected, rel=1e-5)
    assert all(torch.equal(state[name], value) for name, value in learner.state_dict().items())


def test_each_is_the_mean_cross_entropy_of_its_own_queries(data):
    learner, episodes = averaged(data, "protonet", scale=5.0), ragged(data)
    (each,) = losses(learner, data, [episodes])
    with torch.no_grad():
        support, query = (
            learner.embed(images_by_hand(data, data.train.pool, part).flatten(0, 2)).numpy()
            for part in (episodes.support, episodes.query)
        )
    support, query = support.reshape(9, 3, 2, -1), query.reshape(9, 3, -1, support.shape[-1])
    for task, loss in enumerate(each):
        expected = []
        for label, (rows, indices) in enumerate(
            zip(query[task], episodes.query[task], strict=True)
        ):
            for row in rows[indices >= 0]:
                distances = ((row - support[task].mean(axis=1)) ** 2).sum(axis=1)
                expected.append(-log_softmax(-5 * distances / len(row))[label])
        assert len(expected) == 6
        assert loss == pytest.approx(np.mean(expected), rel=1e-4)


def test_what_has_no_loss_on_tasks_or_none_that_is_a_number_is_refused(data):
    with pytest.raises(TypeError, match="A Learner has no loss"):
        losses(object.__new__(Learner), data, sets(data))
    with pytest.raises(BadData, match="A Fomaml has losses on tasks of one shape"):
        losses(built(data, "fomaml", way=3), data, [ragged(data)])
    learner = built(data, "protonet")
    with torch.no_grad():
        next(learner.parameters()).fill_(float("nan"))
    with pytest.raises(TrialFailure, match="7 of 7 tasks are not numbers"):
        losses(learner, data, sets(data))
