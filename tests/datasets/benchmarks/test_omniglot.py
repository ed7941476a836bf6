from contextlib import ExitStack
from typing import ClassVar

import numpy as np
import pytest
from places import REAL_DATA
from pools import encoded, superclasses_of, write_files, zipped

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks import omniglot
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.benchmarks.omniglot import Omniglot, OmniglotOptions
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.datasets.testing import BenchmarkContract

SIDE, DRAWERS = 9, 10
PARTS = {"images_background": 12, "images_evaluation": 8}
NAMES = [f"Alphabet_{a}/character0{c}" for a in range(10) for c in (1, 2)]
DRAWINGS = np.random.default_rng(0).integers(0, 256, (20, DRAWERS, SIDE, SIDE), dtype=np.uint8)


def imitation() -> dict[str, bytes]:
    """Ten alphabets of two characters each, in the official layout."""
    files: dict[str, dict[str, bytes]] = {part: {} for part in PARTS}
    for number, name in enumerate(NAMES):
        part = "images_background" if number < 12 else "images_evaluation"
        for drawer, drawing in enumerate(DRAWINGS[number], 1):
            files[part][f"{part}/{name}/{number:04d}_{drawer:02d}.png"] = encoded(drawing)
    return {f"{part}.zip": zipped(content) for part, content in files.items()}


@pytest.fixture
def small(monkeypatch) -> None:
    monkeypatch.setattr(omniglot, "PARTS", PARTS)
    monkeypatch.setattr(omniglot, "DRAWERS", DRAWERS)


@pytest.mark.usefixtures("small")
class TestOmniglot(BenchmarkContract):
    benchmark = Omniglot
    options: ClassVar = {"image_size": 8}

    def root(self, tmp_path):
        return write_files(tmp_path, imitation())


@pytest.fixture
def turned(small, opened, write_tree):
    root = write_tree(imitation(), "imitation")
    return lambda **more: opened("omniglot", root, image_size=SIDE, rotations=True, **more)


def drawings_of(distribution) -> set[bytes]:
    """Content of its examples, the same whichever way a drawing is turned."""
    images = distribution.pool.images[distribution.examples][:, 0]
    return {min(np.rot90(image, turn).tobytes() for turn in range(4)) for image in images}


def test_turned_characters_are_classes_of_their_own(turned):
    """Ink is bright, paper is black; turns of a drawing are never on both sides of a split."""
    rotated = turned(held_out=0.3)
    pool = rotated.train.pool
    images = pool.images.reshape(20, 4, DRAWERS, SIDE, SIDE)
    for turn in range(4):
        expected = np.rot90(255 - DRAWINGS, turn, axes=(2, 3))
        np.testing.assert_array_equal(images[:, turn], expected)
    np.testing.assert_array_equal(pool.labels, np.repeat(np.arange(80), DRAWERS))
    np.testing.assert_array_equal(pool.writers, np.tile(np.arange(1, DRAWERS + 1), 80))
    turns = [f"{name}{turn}" for name in NAMES for turn in ("", "@90", "@180", "@270")]
    assert pool.class_names == tuple(turns)
    assert pool.superclasses == tuple(name.partition("/")[0] for name in turns)
    base, trained = rotated.base, rotated.train
    assert len(drawings_of(base)) == len(base.examples) / 4  # with all of their turns
    assert not drawings_of(base) & drawings_of(trained)
    assert len(base.examples) == 0.3 * (len(base.examples) + len(trained.examples))
    split = in_distribution(rotated, 0)
    parts = [drawings_of(part) for part in (split.train, split.base, split.novel)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    metadl = turned(split="metadl")
    groups = [superclasses_of(metadl, split) for split in MEASURED]
    assert [len(group) for group in groups] == [1, 5, 4]
    assert groups[2] == {name.partition("/")[0] for name in NAMES[12:]}
    for over, by in (("base", "class"), ("base+val", "class"), ("base+val", "superclass")):
        for index in range(3):
            fold = fold_benchmark(rotated, index=index, folds=3, over=over, by=by)
            trained = drawings_of(fold.train)
            for measured in MEASURED:
                assert not drawings_of(fold.distribution(measured)) & trained


def test_the_official_characters_are_split_by_alphabet_or_as_published():
    lists = read_facts("omniglot_vinyals.json")["characters"].values()
    spans = [(name, span) for ranges in lists for name, span in ranges.items()]
    names = sorted(f"{a}/character{n:02d}" for a, (x, y) in spans for n in range(x, y + 1))
    alphabets = np.array([name.partition("/")[0] for name in names])
    owners = []
    for seed in (0, 1):
        split = omniglot.partition("alphabets", names, [], seed)
        groups = [set(alphabets[split[part]]) for part in MEASURED]
        assert [len(group) for group in groups] == [30, 8, 12]
        assert len(set().union(*groups)) == 50
        owners.append(groups)
    assert owners[0] != owners[1]
    for times in (1, 4):
        options = OmniglotOptions(split="vinyals", rotations=times == 4)
        split = omniglot.partition("vinyals", [*names] * times, [], 0)
        assert Omniglot().expected(options) == {part: len(split[part]) for part in MEASURED}
        options = OmniglotOptions(split="metadl", rotations=times == 4)
        assert Omniglot().expected(options) == {"novel": 659 * times}


@pytest.mark.usefixtures("small")
def test_missing_and_incomplete_parts_are_refused(refusals, snapshot):
    zips, part = imitation(), "images_background"
    drawing = f"{part}/Alphabet_0/character01/0000_01.png"
    cases = {
        "none": dict.fromkeys(zips),
        "half": {**dict.fromkeys(zips), "omniglot/images_evaluation/x": b""},
        "one character": {
            f"{part}.zip": zipped(
                {drawing.replace("_01.", f"_{drawer:02d}."): b"" for drawer in range(1, 11)}
            )
        },
        "notes": {f"{part}.zip": zipped({drawing: b"", f"{part}/notes.txt": b""})},
        "one drawing": {
            f"{part}.zip": zipped({f"{part}/{n}/0000_01.png": b"" for n in NAMES[:12]})
        },
    }
    assert refusals("omniglot", cases, zips) == snapshot


def test_the_real_omniglot():
    """Its names, and one drawing; all 32,460 would take long to decode."""
    root = REAL_DATA / "omniglot"
    if not (root / "images_background.zip").exists():
        pytest.skip(f"the real Omniglot is not at {root}: its counts are NOT checked")
    with ExitStack() as stack:
        characters = omniglot._characters(omniglot._open_parts(root, stack))
        part, tree, drawings = characters["Alphabet_of_the_Magi/character01"]
        ink = 255 - np.asarray(read_image(tree, drawings[0], "grey"))
    assert part == "images_background"
    assert ink.shape == (105, 105)
    assert set(np.unique(ink)) == {0, 255}
    assert 0.005 < (ink == 255).mean() < 0.2  # bright strokes on black
    names, parts = [*characters], [part for part, _, _ in characters.values()]
    split = omniglot.partition("vinyals", names, parts, 0)
    for measured, source in (("base", "train"), ("val", "val"), ("novel", "test")):
        lists = REAL_DATA / "splits" / f"omniglot_vinyals_{source}.txt"
        assert {names[label] for label in split[measured]} == set(lists.read_text().split())
    metadl = omniglot.partition("metadl", names, parts, 0)
    assert {parts[label] for label in metadl["novel"]} == {"images_evaluation"}
    assert [len(metadl["novel"]), len(metadl["base"]) + len(metadl["val"])] == [659, 964]
