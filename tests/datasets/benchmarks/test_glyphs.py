import hashlib

import numpy as np
from pools import counts_of, superclasses_of
from scipy.interpolate import BSpline
from scipy.stats import kstest

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks.glyphs.glyphs import GlyphOptions, Glyphs, GlyphWorld
from fsl_sweep.datasets.benchmarks.glyphs.render import _ink, _pen
from fsl_sweep.datasets.benchmarks.glyphs.strokes import ATTRIBUTES, CONTROLS, draw_characters
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.preparing.opening import prepared_stores

SMALL = {f"{split}_alphabets": 2 for split in MEASURED}
SMALL |= {"classes_per_alphabet": 4, "examples": 10}


def world(**options):
    return GlyphWorld(GlyphOptions.model_validate({**SMALL, **options}))


def test_the_default_is_the_same_bytes_on_every_machine_and_keeps_its_options():
    images, writers = GlyphWorld(GlyphOptions()).render(range(0, 120, 10), 5)
    digest = hashlib.sha256(images.tobytes() + writers.astype("<i8").tobytes()).hexdigest()
    assert digest == "d963a0120217922c68aff8aab5aca5a3cacdcc18e8fbe444ba3637fbb2aeca3b"
    # Trial ids and prepared stores follow from these; an option that is off must not change them.
    plain = GlyphOptions().model_dump(mode="json")
    assert canonical_digest(plain)[:16] == "9a0b0a53ab6d2cdc"
    assert canonical_digest(Glyphs().pool_options(GlyphOptions()))[:16] == "cd6a1d751edd07c8"


def test_a_larger_world_contains_the_smaller_one():
    small, large = (made.render(range(24), 6) for made in (world(), world(novel_alphabets=5)))
    for first, second in zip(small, large, strict=True):
        np.testing.assert_array_equal(first, second)
    for first, second in zip(draw_characters(0, 1, 4), draw_characters(0, 1, 9)[:4], strict=True):
        np.testing.assert_array_equal(first.strokes, second.strokes)


def test_fresh_examples_follow_their_seed_and_have_the_distribution_of_the_pool():
    made = world()
    fresh, writers = made.render([3, 7], 30, seed=1)
    assert (fresh.shape, writers.shape) == ((2, 30, 1, 28, 28), (2, 30))
    np.testing.assert_array_equal(made.render([7], 30, seed=1)[0][0], fresh[1])
    for other in (made.render([3], 30, seed=2), made.render([3], 30)):
        assert not np.array_equal(other[0][0], fresh[0])
    for label in (0, 9, 17):
        inks = [made.render([label], 400, seed)[0][0].mean(axis=(1, 2, 3)) for seed in (None, 5)]
        assert kstest(*inks).pvalue > 1e-4


def test_attributes_are_true_of_the_strokes():
    for alphabet in range(6):
        for character in draw_characters(0, alphabet, 12):
            has = dict(zip(ATTRIBUTES, character.attributes.tolist(), strict=True))
            count = len(character.strokes)
            counts = (has["one-stroke"], has["two-strokes"], has["many-strokes"])
            assert counts == (count == 1, count == 2, count > 2)
            ends = np.linalg.norm(character.strokes[:, 0] - character.strokes[:, -1], axis=1)
            closed, sizes = ends < 1e-9, np.ptp(character.strokes, axis=1).max(axis=1)
            assert (has["loop"] or has["dot"]) == closed.any()
            assert has["dot"] == bool((closed & (sizes < 0.2)).any())
            assert has["loop"] == bool((closed & (sizes > 0.2)).any())
            assert np.abs(character.strokes).max() < 1.1


def test_the_pen_follows_a_cubic_b_spline_and_ink_is_the_distance_to_its_trace():
    knots = np.array([0] * 4 + list(range(1, CONTROLS - 3)) + [CONTROLS - 3] * 4, dtype=float)
    where = np.linspace(0, CONTROLS - 3, len(_pen(28))) * (1 - 1e-12)
    np.testing.assert_allclose(_pen(28), BSpline(knots, np.eye(CONTROLS), 3)(where), atol=1e-9)
    rng = np.random.default_rng(0)
    traced = rng.uniform(-2, 12, (3, 17, 2)).astype(np.float32)
    radius = np.array([0.7, 1.5, 2.2])
    rows, columns = np.mgrid[:10, :10]
    for ink, points, pen in zip(_ink(traced, radius, 10), traced, radius, strict=True):
        gaps = np.hypot(columns[..., None] - points[:, 0], rows[..., None] - points[:, 1]).min(-1)
        np.testing.assert_allclose(ink, np.clip(pen + 0.5 - gaps, 0, 1), atol=1e-5)


def test_tasks_may_be_pairs_of_attributes_or_writers(opened):
    options = {"image_size": 12, "examples": 30, "held_out": 0.6}
    for tasks in ("attributes", "attributes-ood"):
        benchmark = opened("glyphs", **options, tasks=tasks)
        val, novel = (set(benchmark.distribution(s).pairs.ravel()) for s in ("val", "novel"))
        assert (val == novel == set(range(10))) == (tasks == "attributes") == bool(val & novel)
        assert len(val) >= len(novel) >= 2
        assert Glyphs().expected(GlyphOptions(tasks=tasks)) == {}
    benchmark = opened("glyphs", **{**SMALL, "examples": 60, "image_size": 12}, tasks="writers")
    people = {split: count for split, (count, _) in counts_of(benchmark).items()}
    assert people == {"train": 14, "base": 14, "val": 3, "novel": 3}
    assert benchmark.novel.unit == "writers"
    assert len(benchmark.novel.classes) == 24  # everybody writes all alphabets


def test_splits_and_kinds_of_tasks_share_one_store_and_change_no_old_ids(opened, tmp_path):
    plain = opened("glyphs", **SMALL)
    groups = [superclasses_of(plain, split) for split in MEASURED]
    assert [len(group) for group in groups] == [2, 2, 2]
    assert len(set().union(*groups)) == 6
    counts = {"train": (8, 56), "base": (8, 24), "val": (8, 80), "novel": (8, 80)}
    assert counts_of(plain) == counts
    changes = (
        {"base_alphabets": 3, "val_alphabets": 1, "held_out": 0.5},
        {"tasks": "attributes", "min_images": 2},
        {"training_tasks": 50, "min_images": 4},
        {"seed": 1},
    )
    prints, stores = [], []
    for change in changes:
        prints.append(opened("glyphs", **{**SMALL, **change}).fingerprint)
        stores.append(len(prepared_stores("glyphs", tmp_path / "home")))
    assert prints[2] == plain.fingerprint != prints[1]
    assert stores == [1, 1, 1, 2]
    off = {"tasks", "training_tasks", "min_images"}
    for options, shown in (
        ({"training_tasks": 7}, set()),
        ({"tasks": "writers", "min_images": 7}, {"tasks"}),
        ({"tasks": "attributes", "training_tasks": 50}, off),
    ):
        chosen = GlyphOptions.model_validate({**SMALL, **options})
        dumped = chosen.model_dump(mode="json")
        assert off & set(dumped) == shown
        assert all(dumped[key] == options.get(key, dumped[key]) for key in shown)
    assert GlyphOptions.model_validate_json(chosen.model_dump_json()) == chosen
