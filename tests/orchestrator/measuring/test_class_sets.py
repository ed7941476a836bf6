import itertools

import numpy as np
import pytest
import torch
from made import benchmark, writer_benchmark

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.methods.protonet import Protonet, ProtonetOptions
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, ClassSetScorer, class_set
from fsl_sweep.orchestrator.measuring.gram import is_cheaper, rule_of
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.statistics import paired_interval
from fsl_sweep.orchestrator.statistics.sampling.novel_sets import conclusion_stability

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data():
    return benchmark()


def scorer(learner, whole, data):
    images = PoolImages(whole.pool, data, CPU)
    return ClassSetScorer(learner.eval(), images, whole.examples, data.train.classes)


def learner(name, data, **options):
    backbone = {"name": "conv4", "width": 8}
    return build_learner({"name": name, **options}, backbone, data.image_shape, 12, 0)


@pytest.mark.parametrize("shot", [1, 4])
@pytest.mark.parametrize(
    ("name", "options", "rule"),
    [
        ("protonet", {}, "euclidean"),
        ("protonet", {"metric": "cosine"}, "cosine"),
        ("supervised", {}, "euclidean"),
        ("ncc", {}, "cosine"),
        ("meta-baseline", {}, "cosine"),
        ("ridge", {"lam": 3.0}, 3.0),
        ("svm", {}, None),
    ],
)
def test_all_paths_agree_task_by_task(data, name, options, rule, shot):
    made = learner(name, data, **options)
    assert rule_of(made) == rule
    whole = class_set(data, ("val", "novel"))
    drawn, of = ClassSets(whole, EpisodeShape(3, shot, 5)), [scorer(made, whole, data)]

    def by(path):
        return drawn.accuracies(of, drawn.novel_sets(4, 3), 150, path=path)

    path = "gram" if rule and shot == 1 else "features"  # of 8 features and 12 support images
    assert of[0].cheapest(80, 1000, drawn.shape) == path
    direct = by("direct")
    assert len(np.unique(direct)) > 5  # neither chance nor perfection
    np.testing.assert_array_equal(by("features"), direct)
    if rule:
        np.testing.assert_array_equal(by("gram"), direct)
    else:
        with pytest.raises(ValueError, match="gram"):
            by("gram")
    np.testing.assert_array_equal(by(None), direct)


def test_a_learner_that_adapts_is_answered_directly(data):
    made = learner("fomaml", data, way=3, inner_steps_test=1)
    drawn = ClassSets(data.novel, EpisodeShape(3, 1, 2))
    of = scorer(made, data.novel, data)
    assert of.cheapest(72, 10**6, drawn.shape) == "direct"
    assert drawn.accuracies([of, of], [data.novel], 4).shape == (2, 1, 4)
    with pytest.raises(ValueError, match="features"):
        of.by("features", data.novel.examples)


@pytest.mark.parametrize("name", ["protonet", "ridge"])
def test_a_factor_below_zero_turns_the_order_round(data, name):
    made = learner(name, data, learn_scale=True)
    assert rule_of(made) is not None
    with torch.no_grad():
        made.scale.neg_()
    assert rule_of(made) is None


def test_ridge_regression_without_lambda_needs_features(data):
    assert rule_of(learner("ridge", data, lam=0.0)) is None


def test_the_matrix_is_for_many_tasks_of_few_images():
    shape = EpisodeShape(5, 1, 15)
    assert is_cheaper(800, 20_000, shape)
    assert not is_cheaper(800, 100, shape)
    assert not is_cheaper(50_000, 10**9, shape)  # memory


class Column(torch.nn.Module):
    """Stands in for a backbone: one of the numbers of an image."""

    feature_dim = 1

    def __init__(self, column):
        super().__init__()
        self.column = column

    def forward(self, images):
        return images[:, self.column].flatten(1)


CENTRES = np.array(
    # The first number tells the last classes apart and not the first three, the second the reverse.
    [[0.0, 0], [0.3, 3], [0.6, 6], [6, 9], [9, 9.3], [12, 9.6]]
)


@pytest.fixture(scope="module")
def made_features():
    """Six classes of three images with two numbers each, and a snapshot for either number."""
    rng = np.random.default_rng(1)
    numbers = CENTRES[:, None] + rng.normal(0, 0.5, (6, 3, 2))
    numbers[:3, :, 0] += rng.normal(0, 0.2, (3, 3))
    numbers[3:, :, 1] += rng.normal(0, 2, (3, 3))
    images = numbers.reshape(18, 2, 1, 1).astype(np.float32)
    pool = ImagePool.in_memory(images, np.repeat(np.arange(6), 3), [f"c{i}" for i in range(6)])
    whole = ClassTasks(pool, np.arange(6))
    data = Benchmark.of("made", whole, whole, whole, whole, fresh_base=False)
    snapshots = [Protonet(Column(i), ProtonetOptions(), 6) for i in (0, 1)]
    return numbers, whole, [scorer(one, whole, data) for one in snapshots]


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
    numbers, whole, scorers = made_features
    columns = [numbers[:, :, i] for i in (0, 1)]
    drawn = ClassSets(whole, EpisodeShape(2, 1, 1))
    truth = exact(columns[0], range(6)) - exact(columns[1], range(6))
    measured = drawn.accuracies(scorers, [whole], 20_000)[:, 0]
    interval = paired_interval(*measured)
    assert abs(interval.mean - truth) < 2 * (interval.high - interval.low)

    every = list(itertools.combinations(range(6), 3))
    sets = [ClassTasks(whole.pool, np.array(one)) for one in every]
    a, b = drawn.accuracies(scorers, sets, 4000)
    expected = np.array([exact(columns[0], one) - exact(columns[1], one) for one in every])
    errors = np.std(a - b, axis=1, ddof=1) / np.sqrt(4000)
    assert (np.abs((a - b).mean(axis=1) - expected) < 5 * errors + 1e-12).all()

    flips = np.sign(expected) == -np.sign(truth)
    assert 0 < flips.sum() < 20
    assert flips[every.index((0, 1, 2))] != flips[every.index((3, 4, 5))]
    assert (np.abs(expected) > 3 * errors).all()  # so that the measured order is the exact one
    found = conclusion_stability(interval, a, b)
    assert found.flips.count == flips.sum()

    random = drawn.accuracies(scorers, drawn.novel_sets(3, 200), 500)
    share = conclusion_stability(interval, *random).flips
    assert share.low < flips.mean() < share.high


def test_sets_are_uniform_distinct_and_of_their_own_seed(made_features):
    _, whole, _ = made_features
    drawn = ClassSets(whole, EpisodeShape(2, 1, 1), seed=4)
    sets = [tuple(one.classes.tolist()) for one in drawn.novel_sets(2, 600)]
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    assert len(counts) == 15
    assert counts.min() > 15  # of 40 expected
    assert sets == [tuple(one.classes.tolist()) for one in drawn.novel_sets(2, 600)]
    other = ClassSets(whole, EpisodeShape(2, 1, 1), seed=5).novel_sets(2, 600)
    assert sets != [tuple(one.classes.tolist()) for one in other]
    kept = np.stack([one.examples for one in drawn.example_sets(2, 300)])
    assert (np.bincount(kept.ravel(), minlength=18) > 150).all()  # of 200 expected
    assert (whole.pool.labels[kept] == np.repeat(np.arange(6), 2)).all()


def test_tasks_apart_are_other_tasks(made_features):
    _, whole, (first, _) = made_features
    drawn = ClassSets(whole, EpisodeShape(2, 1, 1))
    one, other = drawn.accuracies([first, first], [whole], 200)
    np.testing.assert_array_equal(one, other)
    one, other = drawn.accuracies([first, first], [whole], 200, paired=False)
    assert (one != other).any()


def test_features_that_are_not_numbers_fail(made_features):
    _, whole, _ = made_features
    broken = Protonet(Column(0), ProtonetOptions(), 6)
    broken.backbone.forward = lambda images: images[:, 0].flatten(1) * torch.nan
    data = Benchmark.of("made", whole, whole, whole, whole, fresh_base=False)
    drawn, of = ClassSets(whole, EpisodeShape(2, 1, 1)), scorer(broken, whole, data)
    for path in ("gram", "features"):
        with pytest.raises(TrialFailure, match="not numbers"):
            drawn.accuracies([of], [whole], 100, path=path)


def test_class_sets_are_of_classes(data):
    assert class_set(data, ("val", "novel")).size == 12
    assert class_set(data, ("base",)).examples.tolist() == data.base.examples.tolist()
    for split in ("novel", "unused"):
        with pytest.raises(BadData, match="made of writers"):
            class_set(writer_benchmark(), (split,))


def test_unused_classes_are_in_no_split(made_features):
    _, whole, _ = made_features
    train, val, novel = (ClassTasks(whole.pool, np.array(one)) for one in ((0, 3), (1,), (5,)))
    base = ClassTasks(whole.pool, np.array([0, 3]), np.flatnonzero(whole.pool.labels == 0)[:1])
    data = Benchmark.of("made", train, base, val, novel, fresh_base=False)
    left = class_set(data, ("unused",))
    assert left.classes.tolist() == [2, 4]
    np.testing.assert_array_equal(whole.pool.labels[left.examples], np.repeat([2, 4], 3))
    assert class_set(data, ("novel", "unused")).classes.tolist() == [2, 4, 5]
