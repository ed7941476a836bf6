import itertools

import numpy as np
import pytest
import torch
from evaluated import CPU, built
from made import writer_benchmark
from pools import pool_of

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.methods.protonet import Protonet, ProtonetOptions
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, ClassSetScorer, class_set
from fsl_sweep.orchestrator.measuring.gram import is_cheaper, rule_of
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.statistics import paired_interval
from fsl_sweep.orchestrator.statistics.sampling.novel_sets import conclusion_stability

PAIRS = EpisodeShape(2, 1, 1)


def scorer(learner, classes, data):
    images = PoolImages(classes.pool, data, CPU)
    return ClassSetScorer(learner.eval(), images, classes.examples, data.train.classes)


RULES = {
    "protonet": ({}, "euclidean"),
    "protonet by cosine": ({"metric": "cosine"}, "cosine"),
    "supervised": ({}, "euclidean"),
    "ncc": ({}, "cosine"),
    "meta-baseline": ({}, "cosine"),
    "ridge": ({"lam": 3.0}, 3.0),
    "svm": ({}, None),
}


@pytest.mark.parametrize("shot", [1, 4])
@pytest.mark.parametrize("name", RULES)
def test_all_paths_agree_task_by_task(data, name, shot):
    options, rule = RULES[name]
    learner = built(data, name.partition(" ")[0], **options)
    assert rule_of(learner) == rule
    classes = class_set(data, ("val", "novel"))
    drawn, of = ClassSets(classes, EpisodeShape(3, shot, 5)), scorer(learner, classes, data)

    def by(path):
        return drawn.accuracies([of], drawn.novel_sets(4, 3), 150, path=path)

    path = "gram" if rule and shot == 1 else "features"  # of 8 features and 12 support images
    assert of.cheapest(80, 1000, drawn.shape) == path
    direct = by("direct")
    assert len(np.unique(direct)) > 5  # neither chance nor perfection
    for path in ("features", None, *(["gram"] if rule else [])):
        np.testing.assert_array_equal(by(path), direct)
    if not rule:
        with pytest.raises(ValueError, match="gram"):
            by("gram")


def test_a_learner_that_adapts_is_answered_directly(data):
    of = scorer(built(data, "fomaml", way=3, inner_steps_test=1), data.novel, data)
    drawn = ClassSets(data.novel, EpisodeShape(3, 1, 2))
    assert of.cheapest(72, 10**6, drawn.shape) == "direct"
    assert drawn.accuracies([of, of], [data.novel], 4).shape == (2, 1, 4)
    with pytest.raises(ValueError, match="features"):
        of.by("features", data.novel.examples)


def test_the_matrix_is_for_rules_of_its_own_and_many_tasks_of_few_images(data):
    """A factor below zero turns the order round; ridge without lambda may be singular."""
    for name in ("protonet", "ridge"):
        learner = built(data, name, learn_scale=True)
        assert rule_of(learner) is not None
        with torch.no_grad():
            learner.scale.neg_()
        assert rule_of(learner) is None
    assert rule_of(built(data, "ridge", lam=0.0)) is None
    shape = EpisodeShape(5, 1, 15)
    assert is_cheaper(800, 20_000, shape)
    assert not is_cheaper(800, 100, shape)
    assert not is_cheaper(50_000, 10**9, shape)  # memory


class Column(torch.nn.Module):
    """Stands in for a backbone: one of the numbers of an image, times a factor."""

    feature_dim = 1

    def __init__(self, column, factor=1.0):
        super().__init__()
        self.column, self.factor = column, factor

    def forward(self, images):
        return images[:, self.column].flatten(1) * self.factor


# The first number tells the last classes apart and not the first three, the second the reverse.
CENTRES = np.array([[0.0, 0], [0.3, 3], [0.6, 6], [6, 9], [9, 9.3], [12, 9.6]])


@pytest.fixture(scope="module")
def made_features():
    """Six classes of three images with two numbers each, and what scores a column of them."""
    rng = np.random.default_rng(1)
    numbers = CENTRES[:, None] + rng.normal(0, 0.5, (6, 3, 2))
    numbers[:3, :, 0] += rng.normal(0, 0.2, (3, 3))
    numbers[3:, :, 1] += rng.normal(0, 2, (3, 3))
    images = numbers.reshape(18, 2, 1, 1).astype(np.float32)
    pool = pool_of(images, np.repeat(np.arange(6), 3), [f"c{i}" for i in range(6)])
    classes = ClassTasks(pool, np.arange(6))
    data = Benchmark.of("made", *[classes] * 4, fresh_base=False)

    def scoring(*column):
        return scorer(Protonet(Column(*column), ProtonetOptions(), 6), classes, data)

    return numbers, classes, scoring


def exact(numbers, classes):
    """Mean accuracy over every 2-way 1-shot task with 1 query of these classes, by enumeration."""
    pairs = list(itertools.permutations(range(numbers.shape[1]), 2))
    right = [
        np.mean([abs(x[q] - x[s]) < abs(x[q] - y[t]), abs(y[r] - y[t]) < abs(y[r] - x[s])])
        for first, second in itertools.combinations(classes, 2)
        for x, y in [(numbers[first], numbers[second])]
        for (s, q), (t, r) in itertools.product(pairs, pairs)
    ]
    return float(np.mean(right))


def test_flips_are_those_of_an_exact_enumeration(made_features):
    """All 20 sets of 3 of 6 classes, each with all of its tasks; some show an inversion."""
    numbers, classes, scoring = made_features
    columns, scorers = [numbers[:, :, i] for i in (0, 1)], [scoring(0), scoring(1)]
    drawn = ClassSets(classes, PAIRS)
    truth = exact(columns[0], range(6)) - exact(columns[1], range(6))
    interval = paired_interval(*drawn.accuracies(scorers, [classes], 20_000)[:, 0])
    assert abs(interval.mean - truth) < 2 * (interval.high - interval.low)

    every = list(itertools.combinations(range(6), 3))
    sets = [ClassTasks(classes.pool, np.array(of)) for of in every]
    a, b = drawn.accuracies(scorers, sets, 4000)
    expected = np.array([exact(columns[0], of) - exact(columns[1], of) for of in every])
    errors = np.std(a - b, axis=1, ddof=1) / np.sqrt(4000)
    assert (np.abs((a - b).mean(axis=1) - expected) < 5 * errors + 1e-12).all()

    flips = np.sign(expected) == -np.sign(truth)
    assert 0 < flips.sum() < 20
    assert flips[every.index((0, 1, 2))] != flips[every.index((3, 4, 5))]
    assert (np.abs(expected) > 3 * errors).all()  # so that the measured order is the exact one
    assert conclusion_stability(interval, a, b).flips.count == flips.sum()

    random = drawn.accuracies(scorers, drawn.novel_sets(3, 200), 500)
    share = conclusion_stability(interval, *random).flips
    assert share.low < flips.mean() < share.high


def test_sets_are_uniform_distinct_and_of_their_own_seed(made_features):
    _, classes, scoring = made_features
    drawn = ClassSets(classes, PAIRS, seed=4)

    def labels(sets):
        return [tuple(of.classes.tolist()) for of in sets.novel_sets(2, 600)]

    sets = labels(drawn)
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    assert len(counts) == 15
    assert counts.min() > 15  # of 40 expected
    assert sets == labels(drawn) != labels(ClassSets(classes, PAIRS, seed=5))
    kept = np.stack([of.examples for of in drawn.example_sets(2, 300)])
    assert (np.bincount(kept.ravel(), minlength=18) > 150).all()  # of 200 expected
    assert (classes.pool.labels[kept] == np.repeat(np.arange(6), 2)).all()
    # Tasks of snapshots that are not paired are other tasks.
    for paired in (True, False):
        first, second = drawn.accuracies([scoring(0)] * 2, [classes], 200, paired=paired)
        assert np.array_equal(first, second) is paired
    for path in ("gram", "features"):
        with pytest.raises(TrialFailure, match="not numbers"):
            drawn.accuracies([scoring(0, np.nan)], [classes], 100, path=path)


def test_class_sets_are_of_classes_and_unused_ones_are_in_no_split(data, made_features):
    assert class_set(data, ("val", "novel")).size == 12
    assert class_set(data, ("base",)).examples.tolist() == data.base.examples.tolist()
    for split in ("novel", "unused"):
        with pytest.raises(BadData, match="made of writers"):
            class_set(writer_benchmark(), (split,))
    pool = made_features[1].pool
    train, val, novel = (ClassTasks(pool, np.array(of)) for of in ((0, 3), (1,), (5,)))
    base = ClassTasks(pool, np.array([0, 3]), np.flatnonzero(pool.labels == 0)[:1])
    some = Benchmark.of("made", train, base, val, novel, fresh_base=False)
    left = class_set(some, ("unused",))
    assert left.classes.tolist() == [2, 4]
    np.testing.assert_array_equal(pool.labels[left.examples], np.repeat([2, 4], 3))
    assert class_set(some, ("novel", "unused")).classes.tolist() == [2, 4, 5]
