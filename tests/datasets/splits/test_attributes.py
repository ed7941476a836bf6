import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.benchmark import SPLITS, common_tasks
from fsl_sweep.datasets.splits.attributes import AttributeOptions, attribute_benchmark, pair_remarks
from fsl_sweep.datasets.tasks.attributes import feasible_pairs
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.errors import BadData


def made_pool(images=2000, attributes=9):
    rng = np.random.default_rng(0)
    labels, known = rng.integers(0, 60, images), rng.random((60, attributes)) < 0.35
    return blank_pool(labels, attributes=known, attribute_names="abcdefghi")


def made(novel=range(5), **options):
    chosen = AttributeOptions.model_validate({"min_images": 10, **options})
    return attribute_benchmark("made", made_pool(), np.arange(5), np.array(novel), chosen)


def test_no_image_is_in_two_splits_and_none_is_lost():
    benchmark = made()
    examples = [benchmark.distribution(split).examples for split in SPLITS]
    assert [len(part) for part in examples] == [800, 400, 400, 400]
    assert sorted(np.concatenate(examples)) == list(range(2000))


def test_in_distribution_val_and_novel_draw_the_same_pairs():
    benchmark = made(training_tasks=4)
    np.testing.assert_array_equal(benchmark.val.pairs, benchmark.novel.pairs)
    parts = [benchmark.distribution(split).examples for split in SPLITS]
    expected = feasible_pairs(made_pool(), np.arange(5), parts, 10)
    np.testing.assert_array_equal(benchmark.novel.pairs, expected)
    np.testing.assert_array_equal(benchmark.base.pairs, benchmark.train.pairs)
    assert len(benchmark.base.pairs) <= 4


def test_out_of_distribution_novel_pairs_are_of_other_attributes():
    benchmark = made(novel=range(5, 9))
    assert benchmark.counts["val"].classes == benchmark.counts["novel"].classes + 1 == 5
    assert benchmark.counts["novel"].unit == "attributes"
    for split, attributes in (("train", range(5)), ("val", range(5)), ("novel", range(5, 9))):
        drawn = common_tasks(benchmark, split, "report", 50, EpisodeShape(2, 1, 4), 0)
        assert set(np.unique(drawn.classes)) <= set(attributes)


def test_each_pair_needs_images_only_in_the_splits_that_draw_it():
    for least in (10, 30, 34, 38, 42):
        benchmark = made(novel=range(4, 9), min_images=least)
        parts = {split: benchmark.distribution(split).examples for split in SPLITS}
        measured = [parts["train"], parts["base"], parts["val"]]
        expected = feasible_pairs(made_pool(), np.arange(5), measured, least)
        np.testing.assert_array_equal(benchmark.val.pairs, expected)
        expected = feasible_pairs(made_pool(), np.arange(4, 9), [parts["novel"]], least)
        np.testing.assert_array_equal(benchmark.novel.pairs, expected)


@pytest.mark.parametrize("tasks", [1, 3, 20])
def test_unseen_pairs_are_those_of_no_training_task(tasks):
    benchmark = made(training_tasks=tasks)
    train = benchmark.train.sample(200, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    novel = benchmark.novel.sample(2000, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    trained = set(map(tuple, train.classes.tolist()))
    unseen = set(map(tuple, novel.classes.tolist())) - trained
    assert pair_remarks(benchmark)[1] == (
        f"novel: {len(set(map(tuple, novel.classes.tolist())))} attribute pairs, "
        f"{len(unseen)} of them in no training task"
    )


def test_no_feasible_pair_is_refused():
    with pytest.raises(BadData, match="No pair of the training attributes of 'made' has 800"):
        made(min_images=800)
    with pytest.raises(BadData, match="No pair of the novel attributes"):
        made(novel=[7])
