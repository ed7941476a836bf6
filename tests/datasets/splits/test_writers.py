import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.benchmark import common_tasks
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.writers import writer_benchmark, writer_sizes
from fsl_sweep.datasets.tasks.episodes import VaryingShape
from fsl_sweep.orchestrator.errors import BadData

SPLITS = ("train", "base", "val", "novel")
EVERYTHING = VaryingShape(None, 1, None)


def made_pool(writers: int, counts=(4, 5)) -> ImagePool:
    """Writers with ids 0, 3, 6, ..., each with so many examples of each character."""
    own = np.repeat(np.arange(len(counts)), counts)
    labels = np.tile(own, writers)
    return blank_pool(labels, writers=3 * np.repeat(np.arange(writers), len(own)))


def writers(benchmark, split) -> set[int]:
    return set(benchmark.distribution(split).writers.tolist())


def test_writers_are_split_as_in_the_paper_or_in_the_same_proportions():
    sizes = {count: writer_sizes(count) for count in (3585, 3597, 3584, 539, 20, 4)}
    assert sizes[3585] == sizes[3597] == (2509, 538, 538)
    assert sizes[3584] == (2508, 538, 538)
    assert [*sizes.values()][3:] == [(377, 81, 81), (14, 3, 3), (2, 1, 1)]


@pytest.mark.parametrize("base", ["held-out", "redrawn"])
def test_of_the_full_data_set_all_2509_training_writers_train(base):
    """3,597 people, 12 of whom have no two classes of two examples, as in the paper's data."""
    whole = made_pool(3585)
    who = 3 * 3585 + np.repeat(np.arange(12), 3)
    labels = np.append(whole.labels, np.tile([0, 0, 1], 12))
    pool = blank_pool(labels, writers=np.append(whole.writers, who))
    benchmark = writer_benchmark("made", pool, 0.2, 0, base)
    counts = {split: len(writers(benchmark, split)) for split in SPLITS}
    assert counts == {"train": 2509, "base": 2509, "val": 538, "novel": 538}
    assert benchmark.counts["novel"].unit == "writers"
    assert not writers(benchmark, "train") & set(who.tolist())
    for split, tasks in (("train", 2509), ("val", 538), ("novel", 538)):
        assert benchmark.distribution(split).count(EVERYTHING) == tasks


def test_no_writer_is_in_two_of_training_validation_and_novel():
    benchmark = writer_benchmark("made", made_pool(40), 0.3, 0)
    sets = [writers(benchmark, split) for split in ("train", "val", "novel")]
    assert [len(part) for part in sets] == [28, 6, 6]
    assert set.union(*sets) == set(range(0, 120, 3))
    assert writers(benchmark, "base") == sets[0]
    examples = np.concatenate([benchmark.distribution(split).examples for split in SPLITS])
    assert sorted(examples) == list(range(40 * 9))


@pytest.mark.parametrize("held_out", [0.01, 0.3, 0.99])
def test_at_least_two_examples_are_held_out_where_two_are_left(held_out):
    counts = (1, 2, 3, 4, 5, 10, 20)
    benchmark = writer_benchmark("made", made_pool(10, counts), held_out, 0)
    assert benchmark.fresh_base
    pool = benchmark.train.pool
    for writer in writers(benchmark, "train"):
        for label, count in enumerate(counts):
            kept, held = (
                np.sum((pool.writers[part] == writer) & (pool.labels[part] == label))
                for part in (benchmark.train.examples, benchmark.base.examples)
            )
            assert kept + held == count
            wanted = 0 if count < 4 else min(max(2, round(held_out * count)), count - 2)
            assert held == wanted
    (caution,) = benchmark.cautions
    assert "held-out images of 6 training writers" in caution
    assert "4.00 classes a task on average, where NovelGen has 6.00;" in caution


def test_tasks_of_as_many_classes_need_no_caution():
    assert writer_benchmark("made", made_pool(10, (4, 4)), 0.3, 0).cautions == ()


def test_a_writer_without_two_such_characters_gives_none():
    """A base task of one class would be no task."""
    pool = made_pool(10, (9, 3, 3))
    some = made_pool(10, (9, 9, 3))
    with pytest.raises(BadData, match=r"no training writer of 'made' has 4 examples .* redrawn"):
        writer_benchmark("made", pool, 0.3, 0)
    who = np.append(pool.writers, some.writers + 1)
    both = blank_pool(np.append(pool.labels, some.labels), writers=who)
    benchmark = writer_benchmark("made", both, 0.3, 0)
    assert {writer % 3 for writer in writers(benchmark, "base")} == {1}
    assert {writer % 3 for writer in writers(benchmark, "train")} == {0, 1}


def test_redrawn_base_tasks_are_of_what_is_trained_on_with_other_supports():
    benchmark = writer_benchmark("made", made_pool(30), 0.3, 0, "redrawn")
    train, base = benchmark.train, benchmark.base
    assert base.examples.tolist() == train.examples.tolist()
    assert not benchmark.fresh_base
    (caution,) = benchmark.cautions
    assert "on the 20 training writers and the images that they are trained on" in caution
    everyone, rng = np.arange(20), np.random.default_rng(0)
    supports = [
        set(tasks.take(everyone, EVERYTHING, rng).support.ravel().tolist())
        for tasks in (train, train, base, base)
    ]
    assert supports[0] == supports[1]
    assert len({frozenset(support) for support in supports}) == 3


def test_no_writer_is_measured_twice_and_the_sets_share_none_where_there_are_enough():
    benchmark = writer_benchmark("made", made_pool(80), 0.3, 0)

    def people(task_set, tasks, seed=0):
        drawn = common_tasks(benchmark, "novel", task_set, tasks, EVERYTHING, seed)
        return [int(who) for who in benchmark.novel.pool.writers[drawn.support[:, 0, 0]]]

    novel = writers(benchmark, "novel")
    assert len(novel) == 12
    for selection, report in ((6, 6), (4, 8), (12, 12), (12, 5), (9, 5)):
        chosen, reported = people("selection", selection), people("report", report)
        assert len(set(chosen)) == selection
        assert len(set(reported)) == report
        assert len(set(chosen) & set(reported)) == max(0, selection + report - 12)
    assert people("report", 6) != people("report", 6, seed=1)
    assert set(people("selection", 12)) == novel
    with pytest.raises(BadData) as caught:
        people("report", 13)
    assert str(caught.value) == (
        "13 tasks are asked for, each used at most once, but only 12 writers have what a task "
        "needs. Set evaluation.selection_tasks and evaluation.report_tasks to at most 12; "
        "with 6 each the two sets share no writers."
    )


def test_all_draws_follow_the_seed():
    pool = made_pool(40)
    first = writer_benchmark("made", pool, 0.3, 0)
    assert writer_benchmark("made", pool, 0.3, 0).fingerprint == first.fingerprint
    other = writer_benchmark("made", pool, 0.3, 1)
    assert writers(other, "novel") != writers(first, "novel")
    fewer = writer_benchmark("made", made_pool(40, (20, 20)), 0.1, 0)
    more = writer_benchmark("made", made_pool(40, (20, 20)), 0.3, 0)
    assert set(fewer.base.examples) < set(more.base.examples)
    assert writers(fewer, "novel") == writers(more, "novel")


def test_too_few_writers_or_none_are_refused(pool):
    with pytest.raises(BadData, match=r"'made' needs at least 4 writers, .* and has 3 with two"):
        writer_benchmark("made", made_pool(3), 0.2, 0)
    writer_benchmark("made", made_pool(4), 0.2, 0)
    with pytest.raises(BadData, match="who wrote each image"):
        writer_benchmark("made", pool, 0.2, 0)
