import numpy as np
import pytest

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.writer_splits import writer_benchmark, writer_sizes
from fsl_sweep.orchestrator.errors import BadData

SPLITS = ("train", "base", "val", "novel")


def made_pool(writers: int, each: int = 4) -> ImagePool:
    """Writers with ids 0, 3, 6, ..., each with two examples of two characters."""
    count = writers * each
    labels = np.tile(np.repeat([0, 1], each // 2), writers)
    images = np.zeros((count, 1, 1, 1), np.uint8)
    who = 3 * np.repeat(np.arange(writers), each)
    return ImagePool.in_memory(images, labels, ["a", "b"], writers=who)


def writers(benchmark, split) -> set[int]:
    return set(benchmark.distribution(split).writers.tolist())


def test_the_full_data_set_is_split_as_in_the_paper():
    assert writer_sizes(3585) == (2509, 538, 538)
    assert writer_sizes(3597) == (2509, 538, 538)  # what LEAF's code makes today


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(539, (377, 81, 81)), (20, (14, 3, 3)), (4, (2, 1, 1)), (3584, (2508, 538, 538))],
)
def test_others_in_the_same_proportions(count, sizes):
    assert writer_sizes(count) == sizes


def test_a_full_set_gives_the_papers_counts_and_leaves_some_writers_out():
    benchmark = writer_benchmark("made", made_pool(3597), 0.2, 0)
    counts = {split: len(writers(benchmark, split)) for split in SPLITS}
    assert counts == {"train": 2007, "base": 502, "val": 538, "novel": 538}
    assert benchmark.counts["novel"].unit == "writers"
    assert benchmark.counts["novel"].classes == 538


def test_no_writer_and_no_example_is_in_two_splits():
    benchmark = writer_benchmark("made", made_pool(40), 0.3, 0)
    sets = [writers(benchmark, split) for split in SPLITS]
    assert [len(part) for part in sets] == [20, 8, 6, 6]
    assert set.union(*sets) == set(range(0, 120, 3))
    examples = np.concatenate([benchmark.distribution(split).examples for split in SPLITS])
    assert sorted(examples) == list(range(160))


def test_the_draw_follows_the_seed_and_the_share_held_out():
    pool = made_pool(40)
    first = writer_benchmark("made", pool, 0.3, 0)
    assert writer_benchmark("made", pool, 0.3, 0).fingerprint == first.fingerprint
    other = writer_benchmark("made", pool, 0.3, 1)
    assert writers(other, "novel") != writers(first, "novel")
    fewer = writer_benchmark("made", pool, 0.1, 0)
    assert writers(fewer, "base") < writers(first, "base")
    assert writers(fewer, "novel") == writers(first, "novel")


def test_something_is_always_held_out_and_something_trained_on():
    for held_out, base in ((0.01, 1), (0.99, 13)):
        benchmark = writer_benchmark("made", made_pool(20), held_out, 0)
        assert len(writers(benchmark, "base")) == base
        assert len(writers(benchmark, "train")) == 14 - base


def test_too_few_writers_or_none_are_refused(pool):
    with pytest.raises(BadData, match=r"'made' needs 4 writers at least, .* and has 3"):
        writer_benchmark("made", made_pool(3), 0.2, 0)
    writer_benchmark("made", made_pool(4), 0.2, 0)
    with pytest.raises(BadData, match="do not say who wrote them"):
        writer_benchmark("made", pool, 0.2, 0)
