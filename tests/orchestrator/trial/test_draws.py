"""Which tasks an epoch trains on, where they can be counted; the ML and FIX-ML objectives."""

import numpy as np
import pytest
import submitted
import torch
from made import spec
from trained import AUGMENTED, EPISODES, FIXED, batches, indices, pool_index, training

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.records.spec import BatchTraining, EpisodicTraining
from fsl_sweep.orchestrator.trial.draws import TrainingDraws
from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

SHAPE = {"way": 3, "shot": 2, "query": 2}


def seen(kind, data, number=1, **changes):
    """Support and queries ``[task, way, each]`` of an epoch, as a learner or a submission has them.

    As pool indices, -1 of images that are augmented.
    """
    if kind == "submission":
        items = submitted.given(data, submitted.spec(**changes), number).items
        support, query, _ = zip(*submitted.shown(items), strict=True)
        return [pool_index(data, np.stack(part)) for part in (support, query)]
    steps = batches(training(data, **changes), number)
    parts = ([getattr(batch, part) for batch in steps] for part in ("support", "query"))
    return [indices(data, torch.cat(part)) for part in parts]


@pytest.mark.parametrize("kind", ["learner", "submission"])
def test_episodes_are_of_training_examples_and_come_anew_in_each_epoch(data, kind):
    (support, query), again, second = (seen(kind, data, n, batches=5) for n in (1, 1, 2))
    assert (support.shape, query.shape) == ((10, 3, 1), (10, 3, 2))
    labels = data.train.pool.labels
    assert (labels[support] == labels[query]).all()
    for task in np.concatenate([support, query], axis=2):
        assert set(task.ravel()) <= set(data.train.examples)
        assert len(set(task.ravel())) == 9
        assert len(set(labels[task[:, 0]])) == 3
    assert np.array_equal(support, again[0])
    assert not np.array_equal(support, second[0])


@pytest.mark.parametrize("kind", ["learner", "submission"])
def test_fixed_support_uses_the_same_examples_in_every_epoch(data, kind):
    def used(number, seed=0):
        parts = seen(kind, data, number, train=FIXED, batches=60, seed=seed)
        return [{*part.ravel()} for part in parts]

    (support, queries), (again, _), (other, _) = used(1), used(2), used(1, seed=1)
    assert support == again != other  # which examples are fixed depends on the seed
    assert len(support) == 12  # one example for each of the 12 base classes
    assert not queries & support


@pytest.mark.parametrize("augment_support", [False, True])
@pytest.mark.parametrize("kind", ["learner", "submission"])
def test_support_images_are_augmented_only_where_they_are_to_be(data, kind, augment_support):
    train = {**EPISODES, "shot": 2, "augment_support": augment_support}
    support, query = seen(kind, data, train=train, batches=3, augment=AUGMENTED)
    assert (support >= 0).all() == (support >= 0).any() == (not augment_support)
    assert not (query >= 0).any()


@pytest.mark.parametrize("kind", ["learner", "submission"])
def test_labelled_batches_pass_over_all_examples_before_any_returns(data, kind):
    changes = {"train": {"batch_size": 12}, "batches": 18}
    if kind == "learner":
        steps = batches(training(data, learner={"name": "supervised"}, **changes), 1)
        steps = [(indices(data, batch.images), batch.labels.numpy()) for batch in steps]
    else:
        items = submitted.given(data, submitted.spec(mode="batch", **changes)).items
        steps = [
            (pool_index(data, submitted.unit(images)), labels) for (images, labels), _ in items
        ]
    order, labels = (np.concatenate(part) for part in zip(*steps, strict=True))
    assert len(data.train.examples) == 108
    assert set(order[:108]) == set(order[108:]) == set(data.train.examples)
    assert set(labels) == set(range(12))
    assert (data.train.classes[labels] == data.train.pool.labels[order]).all()


def trained(seed=0, learner="protonet", lr=0.1, **train):
    changed = {
        "learner": Named(name=learner),
        "schedule": [(0, lr)],
        "train": EpisodicTraining(**(SHAPE | train)),
    }
    return spec(seed).model_copy(update=changed)


def supports(episodes):
    """The examples of a class in each task, as sets."""
    return {tuple(sorted(each)) for each in episodes.support.reshape(-1, episodes.support.shape[2])}


def test_the_fixed_support_is_the_one_that_the_trial_trains_on(data):
    fixed = trained(fixed_support=True, queries_from="all")
    support = fixed_support_of(fixed, [])
    assert (support.trial, support.shot, support.queries_from) == (fixed.id, 2, "all")
    of_training = set.union(*map(supports, TrainingDraws(fixed, data).epoch(1)))
    drawn = objective_tasks(data.train, Episode(**SHAPE), 200, 0, support)
    assert of_training <= supports(drawn)
    assert len(supports(drawn)) == 12  # one for each class
    in_support = np.isin(drawn.query, drawn.support)
    assert in_support.any()
    assert not in_support.all()
    random, again = (objective_tasks(data.train, Episode(**SHAPE), 200, 0) for _ in range(2))
    np.testing.assert_array_equal(random.support, again.support)
    assert len(supports(random)) > 200
    with pytest.raises(BadData, match="2 support examples a class are fixed, not 1"):
        objective_tasks(data.train, Episode(**SHAPE | {"shot": 1}), 5, 0, support)


def test_an_ml_trial_has_the_support_of_its_counterpart():
    ml, fixed = trained(), trained(fixed_support=True)
    changes = {"seed": 1}, {"shot": 1}, {"learner": "ridge"}
    others = [ml, *(trained(**change, fixed_support=True) for change in changes)]
    assert fixed_support_of(ml, others) is None
    assert fixed_support_of(ml, [*others, fixed]).trial == fixed.id
    # One that differs in more is taken where it is the only one; a twin goes first.
    slow = trained(lr=0.01, fixed_support=True)
    assert fixed_support_of(ml, [*others, slow]).trial == slow.id
    assert fixed_support_of(ml, [slow, fixed]).trial == fixed.id
    several = [slow, trained(lr=0.02, fixed_support=True)]
    assert fixed_support_of(ml, several) is None
    assert fixed_support_of(fixed, several).trial == fixed.id
    batches = ml.model_copy(update={"train": BatchTraining()})
    assert fixed_support_of(batches, [fixed]) is None
