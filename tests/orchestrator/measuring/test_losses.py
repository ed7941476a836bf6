"""The losses of snapshots on tasks, against plain numpy and against the loss of training."""

import copy

import numpy as np
import pytest
import torch
from made import benchmark
from scipy.special import log_softmax
from trained import CPU

from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.losses import losses_of

SHAPE = EpisodeShape(3, 2, 4)


@pytest.fixture(scope="module")
def data():
    return benchmark()


def built(data, **options):
    made = build_learner(options, {"name": "conv4", "width": 8}, data.image_shape, 12, 0)
    with torch.no_grad():  # running averages that are not those of any batch
        for module in made.modules():
            if isinstance(getattr(module, "running_mean", None), torch.Tensor):
                module.running_mean += 0.1
    return made.eval()


def sets(data, tasks=7):
    rng = np.random.default_rng(3)
    fixed = FixedSupportTasks(data.train, 2, rng, "all")
    return [one.sample(tasks, SHAPE, rng) for one in (data.train, fixed)]


def batch_of(data, episodes):
    """The images of all tasks, normalised by hand."""
    pool = data.train.pool
    mean, std = (np.array(x).reshape(-1, 1, 1) for x in (data.pixel_mean, data.pixel_std))

    def images(index):
        return torch.tensor((pool.images[index] / 255 - mean) / std, dtype=torch.float32)

    return EpisodeBatch(images(episodes.support), images(episodes.query))


@pytest.mark.parametrize(
    "options",
    [
        {"name": "protonet"},
        {"name": "ridge", "label_smoothing": 0.1},
        {"name": "meta-baseline"},
        {"name": "fomaml", "way": 3, "inner_steps": 2, "inner_steps_test": 9, "inner_lr": 0.3},
        {"name": "maml", "way": 3, "inner_steps": 2, "batch_norm": "running"},
    ],
)
def test_their_mean_is_the_loss_of_training_in_evaluation_mode(data, options):
    made = built(data, **options)
    state = copy.deepcopy(made.state_dict())
    images, drawn = PoolImages(data.train.pool, data, CPU), sets(data)
    for episodes, losses in zip(drawn, losses_of(made, images, drawn), strict=True):
        assert losses.shape == (7,)
        assert len(np.unique(losses)) == 7
        expected = made.training_loss(batch_of(data, episodes)).item()
        assert losses.mean() == pytest.approx(expected, rel=1e-5)
    assert all(torch.equal(state[name], value) for name, value in made.state_dict().items())


def test_each_is_the_mean_cross_entropy_of_its_own_queries(data):
    made = built(data, name="protonet", scale=5.0)
    (episodes,) = [MultinomialQueries(data.train).sample(9, EpisodeShape(3, 2, 2), rng())]
    (losses,) = losses_of(made, PoolImages(data.train.pool, data, CPU), [episodes])
    for task, found in enumerate(losses):
        one = batch_of(data, episodes[task : task + 1])
        with torch.no_grad():
            support = made.embed(one.support.flatten(0, 2)).numpy().reshape(3, 2, -1)
            query = made.embed(one.query.flatten(0, 2)).numpy().reshape(3, -1, support.shape[2])
        expected = []
        for own, (rows, indices) in enumerate(zip(query, episodes.query[task], strict=True)):
            for row in rows[indices >= 0]:
                distances = ((row - support.mean(axis=1)) ** 2).sum(axis=1)
                expected.append(-log_softmax(-5 * distances / len(row))[own])
        assert len(expected) == 6
        assert found == pytest.approx(np.mean(expected), rel=1e-4)


def rng():
    return np.random.default_rng(0)


def test_what_has_no_loss_on_tasks_or_none_that_is_a_number_is_refused(data):
    made = built(data, name="protonet")
    images = PoolImages(data.train.pool, data, CPU)
    with pytest.raises(TypeError, match="A Learner has no loss"):
        losses_of(object.__new__(Learner), images, sets(data))
    ragged = [MultinomialQueries(data.train).sample(9, EpisodeShape(3, 2, 2), rng())]
    with pytest.raises(BadData, match="A Fomaml has losses on tasks of one shape"):
        losses_of(built(data, name="fomaml", way=3), images, ragged)
    with torch.no_grad():
        next(made.parameters()).fill_(float("nan"))
    with pytest.raises(TrialFailure, match="7 of 7 tasks are not numbers"):
        losses_of(made, images, sets(data))
