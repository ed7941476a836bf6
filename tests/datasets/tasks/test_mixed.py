from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from pools import assert_proper, assert_uniform, blank_pool
from scipy.stats import chisquare

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.mixed import MixedTasks

SHAPE = EpisodeShape(3, 1, 1)


def made(base=3, novel=2, per_class=8):
    """Base classes whose first half of examples is trained on, and novel classes."""
    count = base + novel
    labels, place = np.divmod(np.arange(count * per_class), per_class)
    held = np.flatnonzero((labels < base) & (place >= per_class // 2))
    pool = blank_pool(labels)
    return ClassTasks(pool, np.arange(base), held), ClassTasks(pool, np.arange(base, count))


def drawn(sets, weight, count=60_000, shape=SHAPE):
    return MixedTasks(*sets, weight).sample(count, shape, np.random.default_rng(0))


def law(base, novel, weight, way):
    """The definition, draw by draw: a set, a class of it, and again where the task has it."""
    chance = {c: (1 - weight) / len(base) for c in base} | {c: weight / len(novel) for c in novel}
    tuples = {}
    for classes in permutations([*base, *novel], way):
        probability = 1.0
        for place, label in enumerate(classes):
            left = 1 - sum(chance[seen] for seen in classes[:place])
            probability *= chance[label] / left if left > 1e-12 else 0.0
        tuples[classes] = probability
    return tuples


@pytest.mark.parametrize("weight", [0.2, 0.4, 0.7])
def test_class_tuples_follow_the_definition(weight):
    expected = law([0, 1, 2], [3, 4], weight, 3)
    assert sum(expected.values()) == pytest.approx(1)
    if weight == 2 / 5:  # the novel share of all classes: uniform tuples of the union
        assert list(expected.values()) == pytest.approx([1 / 60] * 60)
    counts = Counter(map(tuple, drawn(made(), weight).classes.tolist()))
    observed = [counts[classes] for classes in expected]
    assert chisquare(observed, np.array(list(expected.values())) * 60_000).pvalue > 1e-4


@pytest.mark.parametrize(("weight", "classes"), [(0, [0, 1, 2]), (1, [3, 4, 5])])
def test_the_ends_are_the_base_and_the_novel_tuples(weight, classes):
    sets = made(novel=3)
    assert_uniform(drawn(sets, weight).classes, sorted(permutations(classes)))
    mixed = MixedTasks(*sets, weight)
    assert mixed.classes.tolist() == classes
    np.testing.assert_array_equal(mixed.examples, sets[weight].examples)


def test_a_set_that_is_used_up_leaves_the_rest_to_the_other():
    few = drawn(made(), 0.999, 500, EpisodeShape(4, 1, 1))
    assert (np.sum(few.classes >= 3, axis=1) == 2).mean() > 0.95
    whole = drawn(made(), 0.5, 50, EpisodeShape(5, 1, 1))
    assert (np.sort(whole.classes, axis=1) == np.arange(5)).all()
    many = drawn(made(base=300, novel=252, per_class=4), 0.5, 5000)  # in chunks
    assert (len(many), len(np.unique(many.classes))) == (5000, 552)


def test_episodes_are_of_held_out_and_novel_examples_and_repeat_none():
    base, novel = made()
    shape = EpisodeShape(4, 2, 2)
    tasks = MixedTasks(base, novel, 0.5)
    together = assert_proper(tasks, drawn((base, novel), 0.5, 2000, shape), 2000, shape)
    assert set(np.unique(together)) == set(base.examples) | set(novel.examples)


def test_the_digest_tells_weights_and_sets_apart_and_what_cannot_be_mixed_is_refused(
    refused, snapshot
):
    base, novel = made()
    cases = ((base, novel, 0.5), (base, novel, 0.25), (novel, base, 0.5), (base, novel, 0.5))
    assert len({MixedTasks(*case).digest() for case in cases}) == 3
    assert [
        refused(MixedTasks(base, novel, 0.5).check, EpisodeShape(6, 1, 1)),
        refused(MixedTasks(base, novel, 1).check, SHAPE),
        refused(MixedTasks(base, novel, 0.1).check, EpisodeShape(2, 1, 4)),
        refused(MixedTasks, base, made(per_class=6)[1], 0.5),
        refused(MixedTasks, novel, novel, 0.5),
    ] == snapshot
