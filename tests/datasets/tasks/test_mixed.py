from itertools import permutations

import numpy as np
import pytest
from pools import blank_pool
from scipy.stats import chisquare

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.mixed import MixedTasks
from fsl_sweep.orchestrator.errors import BadData

SHAPE = EpisodeShape(3, 1, 1)


def made(base=3, novel=2, per_class=8):
    """Base classes whose first half of examples is trained on, and novel classes."""
    count = base + novel
    labels = np.repeat(np.arange(count), per_class)
    pool = blank_pool(labels)
    place = np.tile(np.arange(per_class), count)
    held = np.flatnonzero((labels < base) & (place >= per_class // 2))
    return ClassTasks(pool, np.arange(base), held), ClassTasks(pool, np.arange(base, count))


def law(base, novel, weight, way):
    """The definition, draw by draw: a set, a class of it, and again where the task has it."""
    chance = {c: (1 - weight) / len(base) for c in base} | {c: weight / len(novel) for c in novel}
    tuples = {}
    for classes in permutations([*base, *novel], way):
        probability = 1.0
        for place, label in enumerate(classes):
            again = sum(chance[seen] for seen in classes[:place])
            left = 1 - again
            probability *= chance[label] / left if left > 1e-12 else 0.0
        tuples[classes] = probability
    return tuples


def counted(base, novel, weight, way=3, tasks=60_000):
    drawn = MixedTasks(base, novel, weight).sample(
        tasks, EpisodeShape(way, 1, 1), np.random.default_rng(0)
    )
    found, counts = np.unique(drawn.classes, axis=0, return_counts=True)
    return dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True))


@pytest.mark.parametrize("weight", [0.2, 0.4, 0.7])
def test_class_tuples_follow_the_definition(weight):
    base, novel = made()
    expected = law([0, 1, 2], [3, 4], weight, 3)
    assert sum(expected.values()) == pytest.approx(1)
    if weight == 2 / 5:  # the novel share of all classes: uniform tuples of the union
        assert list(expected.values()) == pytest.approx([1 / 60] * 60)
    counts = counted(base, novel, weight)
    observed = [counts.get(classes, 0) for classes in expected]
    assert chisquare(observed, np.array(list(expected.values())) * 60_000).pvalue > 1e-4


@pytest.mark.parametrize(("weight", "classes"), [(0, [0, 1, 2]), (1, [3, 4, 5])])
def test_the_ends_are_the_base_and_the_novel_tuples(weight, classes):
    base, novel = made(novel=3)
    counts = counted(base, novel, weight)
    assert set(counts) == set(permutations(classes))
    assert chisquare(list(counts.values())).pvalue > 1e-4
    mixed = MixedTasks(base, novel, weight)
    assert mixed.classes.tolist() == classes
    np.testing.assert_array_equal(mixed.examples, (novel if weight else base).examples)


def test_a_set_that_is_used_up_leaves_the_rest_to_the_other():
    base, novel = made(base=3, novel=2)
    rng = np.random.default_rng(0)
    drawn = MixedTasks(base, novel, 0.999).sample(500, EpisodeShape(4, 1, 1), rng)
    assert (np.sum(drawn.classes >= 3, axis=1) == 2).mean() > 0.95
    all_of_them = MixedTasks(base, novel, 0.5).sample(50, EpisodeShape(5, 1, 1), rng)
    assert (np.sort(all_of_them.classes, axis=1) == np.arange(5)).all()


def test_episodes_are_of_held_out_and_novel_examples_and_repeat_none():
    base, novel = made()
    shape = EpisodeShape(4, 2, 2)
    drawn = MixedTasks(base, novel, 0.5).sample(2000, shape, np.random.default_rng(0))
    together = np.concatenate([drawn.support, drawn.query], axis=2)
    assert set(np.unique(together)) == set(base.examples) | set(novel.examples)
    assert (base.pool.labels[together] == drawn.classes[..., None]).all()
    flat = np.sort(together.reshape(2000, -1), axis=1)
    assert (np.diff(flat, axis=1) > 0).all()


def test_many_classes_and_tasks_are_drawn_in_chunks():
    base, novel = made(base=300, novel=252, per_class=4)
    drawn = MixedTasks(base, novel, 0.5).sample(5000, SHAPE, np.random.default_rng(0))
    assert len(drawn) == 5000
    assert len(np.unique(drawn.classes)) == 552


def test_too_few_classes_or_examples_are_refused():
    base, novel = made()
    with pytest.raises(BadData, match="6-way tasks need 6 classes, but only 5"):
        MixedTasks(base, novel, 0.5).check(EpisodeShape(6, 1, 1))
    with pytest.raises(BadData, match="only 2 are there"):
        MixedTasks(base, novel, 1).check(SHAPE)
    with pytest.raises(BadData, match="class 'c0' has 4"):
        MixedTasks(base, novel, 0.1).check(EpisodeShape(2, 1, 4))


def test_two_pools_and_shared_classes_are_refused():
    base, novel = made()
    other = made(per_class=6)[1]
    with pytest.raises(BadData, match="are in two"):
        MixedTasks(base, other, 0.5)
    with pytest.raises(BadData, match="'c3' is both"):
        MixedTasks(novel, novel, 0.5)


def test_the_digest_tells_weights_and_sets_apart():
    base, novel = made()
    digests = {
        MixedTasks(base, novel, 0.5).digest(),
        MixedTasks(base, novel, 0.25).digest(),
        MixedTasks(novel, base, 0.5).digest(),
    }
    assert len(digests) == 3
    assert MixedTasks(base, novel, 0.5).digest() in digests
