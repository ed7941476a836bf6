"""Which tasks an epoch trains on, where they can be counted."""

import numpy as np
import pytest
from made import trainable

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.attributes import AttributeOptions, attribute_benchmark
from fsl_sweep.datasets.splits.writers import writer_benchmark
from fsl_sweep.orchestrator.trial.draws import TrainingDraws

RAGGED = {"way": "all", "shot": 1, "query": "rest"}


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
    each = np.tile(np.repeat(np.arange(3), 5), writers)
    images = np.zeros((15 * writers, 1, 1, 1), np.uint8)
    who = np.repeat(np.arange(writers), 15)
    pool = ImagePool.in_memory(images, each, ["a", "b", "c"], writers=who)
    return writer_benchmark("made", pool, 0.2, 0)


def test_an_epoch_is_a_pass_over_the_writers_each_with_one_support():
    """As the authors of "Two Sides" train on FEMNIST; 20 of 30 writers train, 6 a step."""
    data = handwriting(30)
    first, second = (epoch(data, n, 4, tasks_per_batch=6, **RAGGED) for n in (1, 2))
    assert len(first) == len(set(first)) == 20
    assert set(first) == set(second)
    assert first != second
    examples = np.concatenate([np.concatenate(task) for task in first])
    np.testing.assert_array_equal(np.unique(examples[examples >= 0]), data.train.examples)


def test_an_epoch_of_many_steps_is_a_pass_over_the_fixed_tasks():
    """The paper's 1000 tasks of Zappos, 4 a step: 250 steps, more than are drawn at once."""
    rng = np.random.default_rng(0)
    pool = ImagePool.in_memory(
        np.zeros((2000, 1, 1, 1), np.uint8),
        rng.integers(0, 60, 2000),
        [f"k{k}" for k in range(60)],
        attributes=rng.random((60, 6)) < 0.35,
        attribute_names=[f"a{a}" for a in range(6)],
    )
    options = AttributeOptions.model_validate({"training_tasks": 1000, "min_images": 10})
    data = attribute_benchmark("made", pool, np.arange(6), np.arange(6), options)
    shape = {"way": 2, "shot": 5, "query": 5}
    first, second = (epoch(data, n, 250, tasks_per_batch=4, **shape) for n in (1, 2))
    assert len(set(first)) == len(first) == 1000
    assert set(first) == set(second)
    assert first != second


@pytest.mark.parametrize("batches", [3, 9])
def test_another_number_of_steps_is_less_or_more_than_a_pass(batches):
    data = handwriting(20)  # 14 train
    drawn = epoch(data, 1, batches, tasks_per_batch=4, **RAGGED)
    counts = sorted(drawn.count(task) for task in set(drawn))
    assert counts == ([1] * 12 if batches == 3 else [2] * 10 + [3] * 4)
