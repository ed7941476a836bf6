import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.benchmark import SPLITS, common_tasks
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.writers import writer_benchmark, writer_sizes
from fsl_sweep.datasets.tasks.episodes import VaryingShape

EVERYTHING = VaryingShape(None, 1, None)


def made_pool(writers: int, counts=(4, 5)) -> ImagePool:
    """Writers with ids 0, 3, 6, ..., each with so many examples of each character."""
    labels = np.repeat(np.arange(len(counts)), counts)
    who = 3 * np.repeat(np.arange(writers), len(labels))
    return blank_pool(np.tile(labels, writers), writers=who)


def made(writers: int, counts=(4, 5), held_out=0.3, seed=0, base="held-out"):
    return writer_benchmark("made", made_pool(writers, counts), held_out, seed, base)


def writers(benchmark, split) -> set[int]:
    return set(benchmark.distribution(split).writers.tolist())


@pytest.mark.parametrize("base", ["held-out", "redrawn"])
def test_of_the_full_data_set_all_2509_training_writers_train(base):
    """3,597 people, 12 of whom have no two classes of two examples, as in the paper's data."""
    sizes = {count: writer_sizes(count) for count in (3585, 3597, 3584, 539, 20, 4)}
    assert sizes[3585] == sizes[3597] == (2509, 538, 538)
    assert [*sizes.values()][2:] == [(2508, 538, 538), (377, 81, 81), (14, 3, 3), (2, 1, 1)]
    whole = made_pool(3585)
    who = 3 * 3585 + np.repeat(np.arange(12), 3)
    labels = np.append(whole.labels, np.tile([0, 0, 1], 12))
    pool = blank_pool(labels, writers=np.append(whole.writers, who))
    benchmark = writer_benchmark("made", pool, 0.2, 0, base)
    counts = {split: len(writers(benchmark, split)) for split in SPLITS}
    assert counts == {"train": 2509, "base": 2509, "val": 538, "novel": 538}
    assert benchmark.novel.unit == "writers"
    assert not writers(benchmark, "train") & set(who.tolist())
    for split in ("train", "val", "novel"):
        assert benchmark.distribution(split).count(EVERYTHING) == counts[split]


def test_no_writer_is_in_two_of_training_validation_and_novel_and_draws_follow_the_seed():
    benchmark, again, other = (made(40, seed=seed) for seed in (0, 0, 1))
    assert again.fingerprint == benchmark.fingerprint
    assert writers(other, "novel") != writers(benchmark, "novel")
    sets = [writers(benchmark, split) for split in ("train", "val", "novel")]
    assert [len(part) for part in sets] == [28, 6, 6]
    assert set.union(*sets) == set(range(0, 120, 3))
    assert writers(benchmark, "base") == sets[0]
    examples = np.concatenate([benchmark.distribution(split).examples for split in SPLITS])
    assert sorted(examples) == list(range(40 * 9))
    fewer, more = (made(40, (20, 20), held_out) for held_out in (0.1, 0.3))
    assert set(fewer.base.examples) < set(more.base.examples)
    assert writers(fewer, "novel") == writers(more, "novel")


@pytest.mark.parametrize("held_out", [0.01, 0.3, 0.99])
def test_at_least_two_examples_are_held_out_where_two_are_left(held_out, snapshot):
    counts = (1, 2, 3, 4, 5, 10, 20)
    benchmark = made(10, counts, held_out)
    assert benchmark.fresh_base
    pool, trained = benchmark.train.pool, writers(benchmark, "train")
    kept, held = (
        np.histogram2d(pool.writers[part], pool.labels[part], [range(31), range(8)])[0]
        for part in (benchmark.train.examples, benchmark.base.examples)
    )
    wanted = [0 if n < 4 else min(max(2, round(held_out * n)), n - 2) for n in counts]
    for writer in trained:
        assert held[writer].tolist() == wanted
        assert (kept + held)[writer].tolist() == [*counts]
    assert benchmark.cautions == snapshot
    assert made(10, (4, 4), held_out).cautions == ()  # as many classes in both


def test_too_few_writers_and_those_without_two_such_characters(pool, refused, snapshot):
    """A base task of one class would be no task."""
    few, some = made_pool(10, (9, 3, 3)), made_pool(10, (9, 9, 3))
    pools = (made_pool(3), pool, few)
    assert [refused(writer_benchmark, "made", each, 0.3, 0) for each in pools] == snapshot
    made(4)
    who = np.append(few.writers, some.writers + 1)
    both = blank_pool(np.append(few.labels, some.labels), writers=who)
    benchmark = writer_benchmark("made", both, 0.3, 0)
    assert {writer % 3 for writer in writers(benchmark, "base")} == {1}
    assert {writer % 3 for writer in writers(benchmark, "train")} == {0, 1}


def test_redrawn_base_tasks_are_of_what_is_trained_on_with_other_supports(snapshot):
    benchmark = made(30, base="redrawn")
    train, base = benchmark.train, benchmark.base
    assert base.examples.tolist() == train.examples.tolist()
    assert not benchmark.fresh_base
    assert benchmark.cautions == snapshot
    everyone, rng = np.arange(20), np.random.default_rng(0)
    first, again, *others = (
        frozenset(tasks.take(everyone, EVERYTHING, rng).support.ravel().tolist())
        for tasks in (train, train, base, base)
    )
    assert first == again
    assert len({first, *others}) == 3


def test_no_writer_is_measured_twice_and_the_sets_share_none_where_there_are_enough(
    refused, snapshot
):
    benchmark = made(80)

    def people(task_set, tasks, seed=0):
        drawn = common_tasks(benchmark, "novel", task_set, tasks, EVERYTHING, seed)
        return [int(who) for who in benchmark.novel.pool.writers[drawn.support[:, 0, 0]]]

    for selection, report in ((6, 6), (4, 8), (12, 12), (12, 5), (9, 5)):
        chosen, reported = set(people("selection", selection)), set(people("report", report))
        assert (len(chosen), len(reported)) == (selection, report)
        assert len(chosen & reported) == max(0, selection + report - 12)
    assert people("report", 6) != people("report", 6, seed=1)
    assert set(people("selection", 12)) == writers(benchmark, "novel")
    assert refused(people, "report", 13) == snapshot
