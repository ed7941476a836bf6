import numpy as np
import pytest
from pools import blank_pool, counts_of, scattered_pool

from fsl_sweep.datasets.benchmark import SPLITS, Benchmark
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import prepared_stores
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.orchestrator.errors import UnknownName

SIZES = [10, 14, 15, 25, 40, 3]  # a tenth of each: 1, 1, 2 (1.5), 2 (2.5), 4 and at least 1
TENTHS = [1, 1, 2, 2, 4, 1]
OTHERS = {"val": np.array([6, 7]), "novel": np.array([8, 9])}


@pytest.fixture(scope="module")
def pool():
    return scattered_pool([*SIZES, 8, 8, 8, 8])


def original(pool, held_out=0.3, seed=0, base=range(6)):
    return class_benchmark("made", pool, {"base": np.array(base), **OTHERS}, held_out, seed)


def sizes_of(pool, *splits):
    return [np.bincount(pool.labels[split.examples], minlength=6).tolist() for split in splits]


def test_every_class_is_split_80_10_10_and_no_example_is_in_two_shares(pool):
    made = in_distribution(original(pool), seed=0)
    assert made.name == "in-distribution:made"
    for split in SPLITS:
        assert made.distribution(split).classes.tolist() == list(range(6))
    together = np.concatenate([split.examples for split in (made.train, made.val, made.novel)])
    assert np.array_equal(np.sort(together), np.flatnonzero(pool.labels < 6))
    np.testing.assert_array_equal(made.base.examples, made.val.examples)
    rest = [size - 2 * tenth for size, tenth in zip(SIZES, TENTHS, strict=True)]
    assert sizes_of(pool, made.train, made.val, made.novel) == [rest, TENTHS, TENTHS]


def test_fresh_examples_are_those_held_out_and_are_halved(pool):
    whole = original(pool, held_out=0.5)
    made = in_distribution(whole, seed=0, fresh=True)
    np.testing.assert_array_equal(made.train.examples, whole.train.examples)
    np.testing.assert_array_equal(made.base.examples, made.val.examples)
    tested = np.union1d(made.val.examples, made.novel.examples)
    np.testing.assert_array_equal(tested, whole.base.examples)
    held = [round(0.5 * size) for size in SIZES]
    halves = [[n // 2 for n in held], [n - n // 2 for n in held]]
    assert sizes_of(pool, made.val, made.novel) == halves
    other = in_distribution(whole, seed=1, fresh=True)
    assert len({made.fingerprint, other.fingerprint, in_distribution(whole, 0).fingerprint}) == 3


def test_the_split_is_a_function_of_only_seed_class_and_examples_and_fair(pool):
    made = in_distribution(original(pool), seed=0)
    again = in_distribution(original(pool, held_out=0.6, seed=5), seed=0)
    assert again.fingerprint == made.fingerprint != original(pool).fingerprint
    assert in_distribution(original(pool), seed=1).fingerprint != made.fingerprint
    alone = in_distribution(original(pool, 0.2, base=[1, 4]), seed=0)
    for split in SPLITS:
        some, few = (benchmark.distribution(split).examples for benchmark in (made, alone))
        np.testing.assert_array_equal(some[np.isin(pool.labels[some], [1, 4])], few)
    counts = np.zeros(len(pool))
    for seed in range(100):
        counts[in_distribution(original(pool), seed).novel.examples] += 1
    shares = counts[pool.labels == 4] / 100
    assert abs(shares.mean() - 0.1) < 1e-9
    assert np.all(np.abs(shares - 0.1) < 5 * np.sqrt(0.09 / 100))


def test_what_cannot_be_split_or_filled_is_refused_with_the_reason(pool, refused, snapshot):
    whole = original(pool)
    made, halved = in_distribution(whole, 0), in_distribution(original(pool, 0.5), 0, fresh=True)
    parts = {split: whole.distribution(split) for split in SPLITS}
    changes = {
        "apart": {"base": ClassTasks(blank_pool(pool.labels[::-1]), np.arange(6))},
        "other": {"train": FixedSupportTasks(whole.train, 1, np.random.default_rng(0))},
    }
    tiny = blank_pool(np.repeat(np.arange(10), 2))
    assert [
        refused(made.val.check, EpisodeShape(2, 1, 1)),  # several classes have one example there
        refused(made.novel.check, EpisodeShape(5, 1, 3)),
        refused(made.train.check, EpisodeShape(5, 1, 30)),
        refused(halved.novel.check, EpisodeShape(5, 1, 9)),
        refused(in_distribution, original(pool, held_out=0.1), seed=0, fresh=True),
        refused(in_distribution, original(tiny), seed=0),
        *(
            refused(in_distribution, Benchmark.of(name, **{**parts, **change}), seed=0)
            for name, change in changes.items()
        ),
    ] == snapshot


GLYPHS = {f"{split}_alphabets": 1 for split in ("base", "val", "novel")}
GLYPHS |= {"examples": 20, "classes_per_alphabet": 4, "image_size": 12}


def test_it_is_named_in_a_sweep_file_and_shares_the_prepared_data(opened, tmp_path):
    name, home = "in-distribution:glyphs", tmp_path / "home"
    plain = opened("glyphs", **GLYPHS)
    for options, arguments in (({}, (0,)), ({"share_seed": 1}, (1,)), ({"fresh": True}, (0, True))):
        made = opened(name, **GLYPHS, **options)
        assert made.fingerprint == in_distribution(plain, *arguments).fingerprint
    assert len(prepared_stores("glyphs", home)) == 1
    options = BENCHMARKS.find(name).cls.Options
    assert "fresh" not in options().model_dump()
    assert options(fresh=True).model_dump()["fresh"] is True
    checked = check(name, GLYPHS, None, home)
    assert checked.problems == ()
    assert counts_of(checked.benchmark)["novel"] == (4, 4 * 2)
    with pytest.raises(ValueError, match="share_seed"):
        opened("glyphs", **GLYPHS, share_seed=1)
    assert BENCHMARKS.find("in-distribution:omniglot").cls.in_distribution
    assert not BENCHMARKS.find("omniglot").cls.in_distribution
    assert BENCHMARKS.find("in-distribution:features").cls.holds_features
    for unknown in ("glyph", name):  # only a benchmark has an in-distribution form
        with pytest.raises(UnknownName, match=f"unknown benchmark '{unknown}'"):
            BENCHMARKS.find(f"in-distribution:{unknown}")
