import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.benchmark import SPLITS, Benchmark, common_tasks
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import open_benchmark, prepared_stores
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.orchestrator.errors import BadData, UnknownName

SIZES = [10, 14, 15, 25, 40, 3]  # a tenth of each: 1, 1, 2 (1.5), 2 (2.5), 4 and at least 1
TENTHS = [1, 1, 2, 2, 4, 1]


@pytest.fixture(scope="module")
def pool():
    labels = np.repeat(np.arange(10), [*SIZES, 8, 8, 8, 8])
    return blank_pool(np.random.default_rng(0).permutation(labels))


def original(pool, held_out=0.3, seed=0):
    partition = {"base": np.arange(6), "val": np.array([6, 7]), "novel": np.array([8, 9])}
    return class_benchmark("made", pool, partition, held_out, seed)


def test_every_class_is_split_80_10_10_and_no_example_is_in_two_shares(pool):
    made = in_distribution(original(pool), seed=0)
    assert made.name == "in-distribution:made"
    for split in SPLITS:
        assert made.distribution(split).classes.tolist() == list(range(6))
    shares = [made.distribution(split).examples for split in ("train", "val", "novel")]
    together = np.concatenate(shares)
    assert np.array_equal(np.sort(together), np.flatnonzero(pool.labels < 6))
    np.testing.assert_array_equal(made.base.examples, made.val.examples)
    for label, (size, tenth) in enumerate(zip(SIZES, TENTHS, strict=True)):
        counts = [int(np.sum(pool.labels[share] == label)) for share in shares]
        assert counts == [size - 2 * tenth, tenth, tenth]


def test_fresh_examples_are_those_held_out_and_are_halved(pool):
    own = original(pool, held_out=0.5)
    made = in_distribution(own, seed=0, fresh=True)
    np.testing.assert_array_equal(made.train.examples, own.train.examples)
    np.testing.assert_array_equal(made.base.examples, made.val.examples)
    tested = np.union1d(made.val.examples, made.novel.examples)
    np.testing.assert_array_equal(tested, own.base.examples)
    for label, size in enumerate(SIZES):
        halves = [int(np.sum(pool.labels[s.examples] == label)) for s in (made.val, made.novel)]
        held = round(0.5 * size)
        assert halves == [held // 2, held - held // 2]
    other = in_distribution(own, seed=1, fresh=True)
    assert len({made.fingerprint, other.fingerprint, in_distribution(own, 0).fingerprint}) == 3
    with pytest.raises(BadData, match="half of the fresh examples of each base class: ask"):
        made.novel.check(EpisodeShape(5, 1, 9))
    with pytest.raises(BadData, match=r"'c0' has 1 held-out example; 2 are needed to validate"):
        in_distribution(original(pool, held_out=0.1), seed=0, fresh=True)


def test_the_split_is_a_function_of_only_seed_class_and_examples(pool):
    made = in_distribution(original(pool), seed=0)
    again = in_distribution(original(pool, held_out=0.6, seed=5), seed=0)
    assert again.fingerprint == made.fingerprint != original(pool).fingerprint
    other = in_distribution(original(pool), seed=1)
    assert other.fingerprint != made.fingerprint
    fewer = {"base": np.array([1, 4]), "val": np.array([6, 7]), "novel": np.array([8, 9])}
    alone = in_distribution(class_benchmark("made", pool, fewer, 0.2, 0), seed=0)
    for label in (1, 4):
        for split in SPLITS:
            own = [b.distribution(split).examples for b in (made, alone)]
            assert np.array_equal(*(index[pool.labels[index] == label] for index in own))


def test_every_example_is_tested_on_as_often_as_any_other(pool):
    counts = np.zeros(len(pool))
    for seed in range(100):
        counts[in_distribution(original(pool), seed).novel.examples] += 1
    shares = counts[pool.labels == 4] / 100
    assert abs(shares.mean() - 0.1) < 1e-9
    assert np.all(np.abs(shares - 0.1) < 5 * np.sqrt(0.09 / 100))


def test_base_and_val_tasks_are_drawn_independently(pool):
    made, shape = in_distribution(original(pool), seed=0), EpisodeShape(2, 1, 1)
    with pytest.raises(BadData):
        made.val.check(shape)  # several classes have one example there
    rich = blank_pool(np.repeat(np.arange(8), 50))
    partition = {"base": np.arange(4), "val": np.arange(4, 6), "novel": np.arange(6, 8)}
    split = in_distribution(class_benchmark("rich", rich, partition, 0.5, 0), seed=0)
    tasks = [common_tasks(split, m, "selection", 50, shape, 0) for m in ("base", "val")]
    assert not np.array_equal(tasks[0].support, tasks[1].support)
    np.testing.assert_array_equal(
        tasks[0].support, common_tasks(split, "base", "selection", 50, shape, 0).support
    )


def test_a_tenth_that_cannot_fill_an_episode_is_refused_with_the_reason(pool):
    made = in_distribution(original(pool), seed=0)
    with pytest.raises(BadData) as caught:
        made.novel.check(EpisodeShape(5, 1, 3))
    assert "need 4 examples a class, but class 'c0' has 1" in str(caught.value)
    assert str(caught.value).endswith("10 % of each base class: ask for fewer queries.")
    with pytest.raises(BadData) as caught:
        made.train.check(EpisodeShape(5, 1, 30))
    assert "10 %" not in str(caught.value)


def test_what_cannot_be_split_is_refused(pool):
    few = {"base": np.arange(2), "val": np.array([6, 7]), "novel": np.array([8, 9])}
    tiny = blank_pool(np.repeat(np.arange(10), 2), "abcdefghij")
    with pytest.raises(BadData, match=r"Class 'a' has 2 examples; 3 are needed"):
        in_distribution(class_benchmark("tiny", tiny, few, 0.2, 0), seed=0)
    whole = original(pool)
    other = blank_pool(pool.labels[::-1])
    parts = {split: whole.distribution(split) for split in SPLITS}
    apart = {**parts, "base": ClassTasks(other, np.arange(6))}
    with pytest.raises(BadData, match="in two pools"):
        in_distribution(Benchmark.of("apart", **apart), seed=0)
    held = whole.base.examples
    fewer = {**parts, "base": ClassTasks(pool, np.arange(5), held[pool.labels[held] < 5])}
    with pytest.raises(BadData, match="differ in their classes"):
        in_distribution(Benchmark.of("fewer", **fewer), seed=0)
    train = FixedSupportTasks(whole.train, 1, np.random.default_rng(0))
    with pytest.raises(BadData, match="'other' has no tasks of classes"):
        in_distribution(Benchmark.of("other", **{**parts, "train": train}), seed=0)


GLYPHS = {f"{split}_alphabets": 1 for split in ("base", "val", "novel")}
GLYPHS |= {"examples": 20, "classes_per_alphabet": 4, "image_size": 12}


def test_it_is_named_in_a_sweep_file_and_shares_the_prepared_data(tmp_path):
    plain = open_benchmark("glyphs", GLYPHS, None, tmp_path)
    made = open_benchmark("in-distribution:glyphs", GLYPHS, None, tmp_path)
    assert made.fingerprint == in_distribution(plain, seed=0).fingerprint
    assert len(list(prepared_stores("glyphs", tmp_path))) == 1
    other = open_benchmark("in-distribution:glyphs", {**GLYPHS, "share_seed": 1}, None, tmp_path)
    assert other.fingerprint == in_distribution(plain, seed=1).fingerprint != made.fingerprint
    fresh = open_benchmark("in-distribution:glyphs", {**GLYPHS, "fresh": True}, None, tmp_path)
    assert fresh.fingerprint == in_distribution(plain, seed=0, fresh=True).fingerprint
    options = BENCHMARKS.find("in-distribution:glyphs").cls.Options
    assert "fresh" not in options().model_dump()
    assert options(fresh=True).model_dump()["fresh"] is True
    checked = check("in-distribution:glyphs", GLYPHS, None, tmp_path)
    assert checked.problems == ()
    assert checked.benchmark.counts["novel"].classes == 4
    assert checked.benchmark.counts["novel"].images == 4 * 2
    with pytest.raises(ValueError, match="share_seed"):
        open_benchmark("glyphs", {**GLYPHS, "share_seed": 1}, None, tmp_path)


def test_only_a_benchmark_has_an_in_distribution_form():
    assert BENCHMARKS.find("in-distribution:omniglot").cls.in_distribution
    assert not BENCHMARKS.find("omniglot").cls.in_distribution
    assert BENCHMARKS.find("in-distribution:features").cls.holds_features
    for name in ("glyph", "in-distribution:glyphs"):
        with pytest.raises(UnknownName, match=f"unknown benchmark '{name}'"):
            BENCHMARKS.find(f"in-distribution:{name}")
