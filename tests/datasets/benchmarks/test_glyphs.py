import hashlib

import numpy as np
import pytest
from pools import counts_of, superclasses_of
from scipy.interpolate import BSpline
from scipy.stats import kstest

from fsl_sweep.datasets.benchmarks.glyphs.glyphs import GlyphOptions, Glyphs, GlyphWorld
from fsl_sweep.datasets.benchmarks.glyphs.render import (
    Jitter,
    _ink,
    _pen,
    draw_writers,
    render_character,
)
from fsl_sweep.datasets.benchmarks.glyphs.strokes import ATTRIBUTES, CONTROLS, draw_characters
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.preparing.opening import open_benchmark

SMALL = {f"{split}_alphabets": 2 for split in ("base", "val", "novel")}
SMALL |= {"classes_per_alphabet": 4, "examples": 10}


def test_classes_are_split_by_alphabet(tmp_path):
    benchmark = open_benchmark("glyphs", SMALL, None, tmp_path)
    groups = [superclasses_of(benchmark, split) for split in ("base", "val", "novel")]
    assert [len(group) for group in groups] == [2, 2, 2]
    assert len(set().union(*groups)) == 6
    found = {"train": (8, 56), "base": (8, 24), "val": (8, 80), "novel": (8, 80)}
    assert counts_of(benchmark) == found


def test_the_default_is_the_same_bytes_on_every_machine():
    world = GlyphWorld(GlyphOptions())
    images, writers = world.render(range(0, 120, 10), 5)
    digest = hashlib.sha256(images.tobytes() + writers.astype("<i8").tobytes()).hexdigest()
    assert digest == "d963a0120217922c68aff8aab5aca5a3cacdcc18e8fbe444ba3637fbb2aeca3b"


def test_a_larger_world_contains_the_smaller_one():
    small = GlyphWorld(GlyphOptions.model_validate(SMALL))
    large = GlyphWorld(GlyphOptions.model_validate({**SMALL, "novel_alphabets": 5}))
    for got, want in zip(large.render(range(24), 6), small.render(range(24), 6), strict=True):
        np.testing.assert_array_equal(got, want)
    longer = draw_characters(0, 1, 9)
    for one, other in zip(draw_characters(0, 1, 4), longer, strict=False):
        np.testing.assert_array_equal(one.strokes, other.strokes)


def test_fresh_examples_follow_their_seed_and_are_not_those_of_the_pool():
    world = GlyphWorld(GlyphOptions.model_validate(SMALL))
    fresh, writers = world.render([3, 7], 30, seed=1)
    assert fresh.shape == (2, 30, 1, 28, 28)
    assert writers.shape == (2, 30)
    np.testing.assert_array_equal(world.render([7], 30, seed=1)[0][0], fresh[1])
    assert not np.array_equal(world.render([3], 30, seed=2)[0][0], fresh[0])
    pool = world.render([3], 30)[0]
    assert not np.array_equal(pool[0], fresh[0])


def test_fresh_examples_have_the_distribution_of_the_pool():
    world = GlyphWorld(GlyphOptions.model_validate(SMALL))
    for label in (0, 9, 17):
        inks = [
            images[0].reshape(400, -1).astype(float).mean(axis=1)
            for images, _ in (world.render([label], 400), world.render([label], 400, 5))
        ]
        assert kstest(inks[0], inks[1]).pvalue > 1e-4


def test_classes_differ_more_than_their_examples():
    world = GlyphWorld(GlyphOptions())
    images, _ = world.render(range(120), 40)
    flat = images.reshape(120, 40, -1).astype(float)
    centres = flat[:, :20].mean(axis=1)
    gaps = (centres**2).sum(-1) - 2 * flat[:, 20:] @ centres.T  # but for the image's own length
    assert (gaps.argmin(-1) == np.arange(120)[:, None]).mean() > 0.15  # chance is 1/120
    ink = flat.mean(-1)
    assert ink.min() > 2  # nothing is blank, even where it is shifted


def test_attributes_are_true_of_the_strokes():
    for alphabet in range(6):
        for character in draw_characters(0, alphabet, 12):
            has = dict(zip(ATTRIBUTES, character.attributes.tolist(), strict=True))
            count = len(character.strokes)
            assert (has["one-stroke"], has["two-strokes"], has["many-strokes"]) == (
                count == 1,
                count == 2,
                count > 2,
            )
            ends = np.linalg.norm(character.strokes[:, 0] - character.strokes[:, -1], axis=1)
            sizes = np.ptp(character.strokes, axis=1).max(axis=1)
            closed = ends < 1e-9
            assert (has["loop"] or has["dot"]) == closed.any()
            assert has["dot"] == bool((closed & (sizes < 0.2)).any())
            assert has["loop"] == bool((closed & (sizes > 0.2)).any())
            assert np.abs(character.strokes).max() < 1.1


def test_the_pen_follows_a_cubic_b_spline():
    knots = np.array([0] * 4 + list(range(1, CONTROLS - 3)) + [CONTROLS - 3] * 4, dtype=float)
    pen = _pen(28)
    where = np.linspace(0, CONTROLS - 3, len(pen)) * (1 - 1e-12)
    expected = BSpline(knots, np.eye(CONTROLS), 3)(where)
    np.testing.assert_allclose(pen, expected, atol=1e-9)


def test_ink_is_the_distance_to_the_nearest_point_of_the_trace():
    rng = np.random.default_rng(0)
    traced = rng.uniform(-2, 12, (3, 17, 2)).astype(np.float32)
    radius = np.array([0.7, 1.5, 2.2])
    rows, columns = np.mgrid[:10, :10]
    for got, points, pen in zip(_ink(traced, radius, 10), traced, radius, strict=True):
        gaps = np.hypot(columns[..., None] - points[:, 0], rows[..., None] - points[:, 1]).min(-1)
        np.testing.assert_allclose(got, np.clip(pen + 0.5 - gaps, 0, 1), atol=1e-5)


def test_writers_are_drawn_uniformly_and_keep_their_hand():
    writers = draw_writers(0, 4, 1.0)
    np.testing.assert_array_equal(writers.slant, draw_writers(0, 9, 1.0).slant[:4])
    strokes = draw_characters(0, 0, 1)[0].strokes
    still = Jitter(0, 0, 0, 0)
    images, who = render_character(strokes, 4000, 12, writers, still, np.random.default_rng(0))
    assert (np.abs(np.bincount(who) - 1000) < 150).all()
    ink = np.array([images[who == w].mean() for w in range(4)])
    np.testing.assert_array_equal(np.argsort(ink), np.argsort(ink.round(1)))


@pytest.mark.parametrize("tasks", ["attributes", "attributes-ood"])
def test_tasks_may_be_pairs_of_attributes(tmp_path, tasks):
    options = {"image_size": 12, "examples": 30, "held_out": 0.6, "tasks": tasks}
    benchmark = open_benchmark("glyphs", options, None, tmp_path)
    val, novel = (set(benchmark.distribution(s).pairs.ravel()) for s in ("val", "novel"))
    if tasks == "attributes":
        assert val == novel == set(range(10))
    else:
        assert not val & novel
        assert len(val) >= len(novel) >= 2
    assert Glyphs().expected(GlyphOptions.model_validate(options)) == {}


def test_tasks_may_be_writers(tmp_path):
    options = {**SMALL, "examples": 60, "image_size": 12, "tasks": "writers"}
    benchmark = open_benchmark("glyphs", options, None, tmp_path)
    counts = {split: (count.classes, count.unit) for split, count in benchmark.counts.items()}
    people = {"train": 14, "base": 14, "val": 3, "novel": 3}
    assert counts == {split: (count, "writers") for split, count in people.items()}
    assert len(benchmark.novel.classes) == 24  # everybody writes all alphabets
    plain = GlyphOptions.model_validate({**options, "min_images": 7}).model_dump(mode="json")
    assert plain["tasks"] == "writers"
    assert not {"training_tasks", "min_images"} & set(plain)
    assert len(list((tmp_path / "datasets").glob("glyphs-*"))) == 1


def test_splits_and_kinds_of_tasks_share_one_store_and_change_no_old_ids(tmp_path):
    open_benchmark("glyphs", SMALL, None, tmp_path)
    shifted = {"base_alphabets": 3, "val_alphabets": 1, "held_out": 0.5}
    open_benchmark("glyphs", {**SMALL, **shifted}, None, tmp_path)
    ways = [{"tasks": "attributes", "min_images": 2}, {"training_tasks": 50, "min_images": 4}]
    prints = [open_benchmark("glyphs", {**SMALL, **w}, None, tmp_path).fingerprint for w in ways]
    assert prints[0] != prints[1] == open_benchmark("glyphs", SMALL, None, tmp_path).fingerprint
    assert len(list((tmp_path / "datasets").glob("glyphs-*"))) == 1
    plain = GlyphOptions.model_validate(SMALL).model_dump(mode="json")
    assert not {"tasks", "training_tasks", "min_images"} & set(plain)
    chosen = GlyphOptions.model_validate({**SMALL, "tasks": "attributes", "training_tasks": 50})
    assert chosen.model_dump(mode="json")["training_tasks"] == 50
    assert GlyphOptions.model_validate_json(chosen.model_dump_json()) == chosen
    open_benchmark("glyphs", {**SMALL, "seed": 1}, None, tmp_path)
    assert len(list((tmp_path / "datasets").glob("glyphs-*"))) == 2


def test_the_default_options_keep_their_digest():
    # Trial ids and prepared stores follow from these; an option that is off must not change them.
    plain = GlyphOptions().model_dump(mode="json")
    pooled = Glyphs().pool_options(GlyphOptions())
    assert canonical_digest(plain)[:16] == "9a0b0a53ab6d2cdc"
    assert canonical_digest(pooled)[:16] == "cd6a1d751edd07c8"
