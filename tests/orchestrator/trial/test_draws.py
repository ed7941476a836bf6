"""Which tasks an epoch trains on, where they can be counted; the ML and FIX-ML objectives."""

import numpy as np
import pytest
from made import spec, trainable
from pools import blank_pool

from fsl_sweep.datasets.splits.attributes import AttributeOptions, attribute_benchmark
from fsl_sweep.datasets.splits.writers import writer_benchmark
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.records.spec import BatchTraining, EpisodicTraining
from fsl_sweep.orchestrator.trial.draws import TrainingDraws
from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

RAGGED = {"way": "all", "shot": 1, "query": "rest"}
SHAPE = {"way": 3, "shot": 2, "query": 2}


def epoch(data, number, batches, **train):
    """The tasks of an epoch: what is support and what is query, whatever the order of classes."""
    draws = TrainingDraws(trainable(train=train, batches=batches), data)
    return [
        (tuple(sorted(support.ravel())), tuple(sorted(query.ravel())))
        for step in draws.epoch(number)
        for support, query in zip(step.support, step.query, strict=True)
    ]


def handwriting(writers: int):
    """Five examples of each of three characters by each of so many people."""
    each, who = np.tile(np.repeat(np.arange(3), 5), writers), np.repeat(np.arange(writers), 15)
    return writer_benchmark("made", blank_pool(each, 3, writers=who), 0.2, 0)


def attributes():
    """The paper's 1000 training tasks of Zappos."""
    rng = np.random.default_rng(0)
    labels, of_classes = rng.integers(0, 60, 2000), rng.random((60, 6)) < 0.35
    names = [f"a{a}" for a in range(6)]
    pool = blank_pool(labels, 60, attributes=of_classes, attribute_names=names)
    options = AttributeOptions.model_validate({"training_tasks": 1000, "min_images": 10})
    return attribute_benchmark("made", pool, np.arange(6), np.arange(6), options)


@pytest.mark.parametrize("kind", ["writers", "fixed tasks"])
def test_an_epoch_is_a_pass_over_the_writers_or_the_fixed_tasks(kind):
    """As the authors of "Two Sides" train on FEMNIST, 20 of 30 writers, 6 a step, each with one
    support; and on Zappos 4 tasks a step: 250 steps, more than are drawn at once."""
    if kind == "writers":
        data, count, step, shape = handwriting(30), 20, 6, RAGGED
    else:
        data, count, step, shape = attributes(), 1000, 4, {"way": 2, "shot": 5, "query": 5}
    first, second = (
        epoch(data, n, -(-count // step), tasks_per_batch=step, **shape) for n in (1, 2)
    )
    assert len(first) == len(set(first)) == count
    assert set(first) == set(second)
    assert first != second
    if kind == "writers":
        examples = np.concatenate([np.concatenate(task) for task in first])
        np.testing.assert_array_equal(np.unique(examples[examples >= 0]), data.train.examples)


@pytest.mark.parametrize("batches", [3, 9])
def test_another_number_of_steps_is_less_or_more_than_a_pass(batches):
    tasks = epoch(handwriting(20), 1, batches, tasks_per_batch=4, **RAGGED)  # 14 writers train
    counts = sorted(tasks.count(task) for task in set(tasks))
    assert counts == ([1] * 12 if batches == 3 else [2] * 10 + [3] * 4)


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
