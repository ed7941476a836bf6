import numpy as np
import pytest
import torch
from made import benchmark, trainable

from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.config import Optimizer
from fsl_sweep.orchestrator.training import Training, learning_rate, make_optimizer

CPU = torch.device("cpu")
TABLE_4 = [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]


def test_every_step_of_the_schedule_is_reached_at_its_epoch():
    """The staircase of "Two Sides", table 4: e(r) sets rate r at epoch e, counted from 0."""
    rates = [learning_rate(TABLE_4, epoch) for epoch in range(1, 61)]
    assert rates == [0.1] * 20 + [0.006] * 20 + [0.0012] * 10 + [0.00024] * 10


def training(data, **changes):
    spec = trainable(**changes)
    made = build_learner(
        {"name": spec.learner.name, **spec.learner.options},
        {"name": "conv4", "width": 8},
        data.image_shape,
        12,
        0,
    )
    return Training(spec, data, made, CPU)


def batches(run, epoch):
    draws = torch.Generator().manual_seed(0)
    return list(run._batches(epoch, draws))


def test_the_rate_in_force_is_the_optimizers():
    data = benchmark()
    run = training(data, schedule=[(0, 0.1), (1, 0.01)])
    for epoch, rate in ((1, 0.1), (2, 0.01), (3, 0.01)):
        for _ in run.epoch(epoch):
            assert run.optimizer.param_groups[0]["lr"] == rate


def images_of(pool):
    return {image.tobytes(): i for i, image in enumerate(pool.images)}


def original(run, images, data):
    """Pool indices of normalised images."""
    mean, std = data.pixel_mean[0], data.pixel_std[0]
    raw = ((images * std + mean) * 255).round().to(torch.uint8).numpy()
    known = images_of(data.train.pool)
    return np.array([known[image.tobytes()] for image in raw.reshape(-1, *raw.shape[-3:])])


def test_episodes_are_of_training_examples_with_disjoint_support_and_query():
    data = benchmark()
    run = training(data, batches=5)
    for batch in batches(run, 1):
        assert batch.support.shape == (2, 3, 1, 1, 16, 16)
        assert batch.query.shape == (2, 3, 2, 1, 16, 16)
        for task in range(2):
            support = original(run, batch.support[task], data)
            query = original(run, batch.query[task], data)
            assert set(support) | set(query) <= set(data.train.examples)
            assert not set(support) & set(query)
            labels = data.train.pool.labels
            assert labels[query].tolist() == np.repeat(labels[support], 2).tolist()
            assert len(set(labels[support])) == 3


def test_fixed_support_uses_the_same_examples_in_every_epoch():
    data = benchmark()
    train = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2, "fixed_support": True}
    run = training(data, train=train, batches=60)
    used = [
        set(original(run, torch.cat([b.support for b in batches(run, e)]), data)) for e in (1, 2)
    ]
    assert used[0] == used[1]
    assert len(used[0]) == 12  # one example for each of the 12 base classes
    queries = set(original(run, torch.cat([b.query for b in batches(run, 1)]), data))
    assert not queries & used[0]
    # Which examples are fixed depends on the seed.
    other = training(data, train=train, batches=60, seed=1)
    assert set(original(other, torch.cat([b.support for b in batches(other, 1)]), data)) != used[0]


def test_labelled_batches_pass_over_all_examples_before_any_returns():
    data = benchmark()
    run = training(data, learner={"name": "supervised"}, train={"batch_size": 12}, batches=18)
    drawn = batches(run, 1)
    order = np.concatenate([original(run, batch.images, data) for batch in drawn])
    examples = set(data.train.examples)
    assert len(examples) == 108
    assert set(order[:108]) == examples
    assert set(order[108:]) == examples
    labels = np.concatenate([batch.labels.numpy() for batch in drawn])
    assert set(labels) == set(range(12))
    assert (data.train.classes[labels] == data.train.pool.labels[order]).all()


def test_epochs_draw_anew():
    data = benchmark()
    run = training(data)
    first, second = batches(run, 1), batches(run, 2)
    assert not torch.equal(first[0].support, second[0].support)
    assert torch.equal(first[0].support, batches(run, 1)[0].support)


@pytest.mark.parametrize("nesterov", [True, False])
def test_sgd_is_what_was_asked_for(nesterov):
    weight = torch.nn.Linear(2, 1)
    options = Optimizer(lr=0.3, momentum=0.7, nesterov=nesterov, weight_decay=0.01)
    group = make_optimizer(weight, options).param_groups[0]
    assert (group["lr"], group["momentum"], group["nesterov"]) == (0.3, 0.7, nesterov)
    assert group["weight_decay"] == 0.01


def test_adam_is_adam():
    optimizer = make_optimizer(torch.nn.Linear(2, 1), Optimizer(name="adam", lr=0.3))
    assert isinstance(optimizer, torch.optim.Adam)
