import zipfile
from contextlib import ExitStack
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from pools import encoded, superclasses_of, write_files, write_zip, zipped

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks import omniglot
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.benchmarks.omniglot import (
    PARTS,
    Omniglot,
    OmniglotOptions,
    rotated_name,
    upright_name,
)
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.datasets.testing import BenchmarkContract

DRAWERS = 4


def published() -> list[str]:
    lists = read_facts("omniglot_vinyals.json")["characters"].values()
    spans = [(name, span) for ranges in lists for name, span in ranges.items()]
    return sorted(f"{a}/character{n:02d}" for a, (x, y) in spans for n in range(x, y + 1))


def background() -> list[str]:
    """Alphabets such that the parts have the official numbers of characters, by a subset sum."""
    alphabets = [name.partition("/")[0] for name in published()]
    reachable: dict[int, list[str]] = {0: []}
    for alphabet in sorted(set(alphabets)):
        for total, chosen in list(reachable.items()):
            reachable.setdefault(total + alphabets.count(alphabet), [*chosen, alphabet])
    return reachable[PARTS["images_background"]]


@cache
def made_archives() -> dict[str, bytes]:
    """Omniglot's names, with a bar for a drawing: its length is the drawer's number, up to 4."""
    bars = [np.ones((21, 21), dtype=bool) for _ in range(DRAWERS)]
    for drawer, bar in enumerate(bars, 1):
        bar[0, :drawer] = False
    drawings, inside, archives = [*map(encoded, bars)], set(background()), {}
    for part in PARTS:
        files = {
            f"{part}/{name}/{number:04d}_{drawer:02d}.png": drawing
            for number, name in enumerate(published(), 1)
            if (name.partition("/")[0] in inside) == (part == "images_background")
            for drawer, drawing in enumerate(drawings, 1)
        }
        archives[f"{part}.zip"] = zipped(files)
    return archives


@pytest.fixture
def few_drawers(monkeypatch) -> None:
    monkeypatch.setattr(omniglot, "DRAWERS", DRAWERS)


@pytest.mark.usefixtures("few_drawers")
class TestOmniglot(BenchmarkContract):
    benchmark = Omniglot
    options: ClassVar = {"split": "vinyals", "image_size": 8, "held_out": 0.5}

    def root(self, tmp_path):
        return write_files(tmp_path, made_archives())


TURNED = {"image_size": 21, "rotations": True}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Opens the imitation with turned characters, with more options."""
    root, home = tmp_path_factory.mktemp("imitation"), tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(omniglot, "DRAWERS", DRAWERS)
        open_benchmark("omniglot", TURNED, write_files(root, made_archives()), home)
    return lambda **options: open_benchmark("omniglot", {**TURNED, **options}, None, home)


def test_pixels_drawers_and_alphabets_of_turned_characters(opened):
    pool = opened().train.pool
    np.testing.assert_array_equal(pool.writers[:6], [1, 2, 3, 4, 1, 2])
    np.testing.assert_array_equal(np.bincount(pool.labels), np.full(4 * 1623, DRAWERS))
    turns = pool.images[:, 0].reshape(1623, 4, DRAWERS, 21, 21)
    upright = turns[:, 0].reshape(-1, 21, 21)
    np.testing.assert_array_equal((upright[:, 0] == 255).sum(1), pool.writers[: len(upright)])
    assert (upright[:, 1:] == 0).all()  # ink is bright, paper is black
    for turn in range(4):
        rotated = np.rot90(turns[:, 0], turn, axes=(2, 3))
        np.testing.assert_array_equal(turns[:, turn], rotated)
    assert pool.class_names[1] == "Alphabet_of_the_Magi/character01@90"
    assert pool.superclasses == tuple(n.partition("/")[0] for n in pool.class_names)


def test_alphabets_and_turns_of_a_character_stay_together(opened):
    owners = []
    for seed in (0, 1):
        benchmark = opened(seed=seed)
        groups = [superclasses_of(benchmark, split) for split in MEASURED]
        assert [len(group) for group in groups] == [30, 8, 12]
        assert len(set().union(*groups)) == 50
        owners.append(groups)
    assert owners[0] != owners[1]
    assert opened(split="metadl").counts["novel"].classes == 4 * 659
    vinyals = opened(split="vinyals")
    options = OmniglotOptions(split="vinyals", rotations=True)
    counts = {split: vinyals.counts[split].classes for split in MEASURED}
    assert Omniglot().expected(options) == counts
    assert Omniglot().expected(OmniglotOptions(split="metadl")) == {"novel": 659}
    for split in MEASURED:
        names = [vinyals.train.pool.class_names[c] for c in vinyals.distribution(split).classes]
        assert len(names) == 4 * len(set(map(upright_name, names)))


@pytest.mark.usefixtures("few_drawers")
def test_missing_and_incomplete_parts_are_refused(tmp_path, refused, snapshot):
    def opened(folder):
        open_benchmark("omniglot", {}, tmp_path / folder, tmp_path)

    (tmp_path / "none").mkdir()
    (tmp_path / "half" / "omniglot" / "images_evaluation").mkdir(parents=True)
    told = [refused(opened, folder) for folder in ("none", "half")]
    root = write_files(tmp_path / "root", made_archives())
    path = root / "images_background.zip"
    with zipfile.ZipFile(path) as whole:
        names = whole.namelist()
    for held in (names[:-1], names[:1], [names[0], "images_background/notes.txt"]):
        write_zip(path, dict.fromkeys(held, b""))
        told.append(refused(opened, "root"))
    assert told == snapshot


def rotated_pool(alphabets=5, characters=4, drawings=10) -> ImagePool:
    """Random drawings, each character followed by its turns, as the preparation writes them."""
    rng, names, images = np.random.default_rng(0), [], []
    for number in range(alphabets * characters):
        alphabet, character = divmod(number, characters)
        upright = rng.integers(0, 256, (drawings, 1, 5, 5), dtype=np.uint8)
        for turn in range(4):
            names.append(rotated_name(f"A{alphabet}/character{character:02d}", turn))
            images.append(np.rot90(upright, turn, axes=(2, 3)))
    return ImagePool.in_memory(
        np.concatenate(images),
        np.repeat(np.arange(len(names)), drawings),
        names,
        superclasses=[name.partition("/")[0] for name in names],
        attributes=np.tile([True, False], (len(names), 1)),
        attribute_names=tuple(PARTS),
    )


def drawings_of(distribution) -> set[bytes]:
    """Content of its examples, the same whichever way a drawing is turned."""
    images = distribution.pool.images[distribution.examples][:, 0]
    return {min(np.rot90(image, turn).tobytes() for turn in range(4)) for image in images}


def test_turns_of_a_drawing_are_never_on_both_sides():
    options = OmniglotOptions(rotations=True, held_out=0.3)
    rotated = Omniglot().assemble(options, {"main": rotated_pool()})
    base, trained = rotated.base, rotated.train
    assert len(drawings_of(base)) == len(base.examples) / 4  # with all of their turns
    assert not drawings_of(base) & drawings_of(trained)
    assert len(base.examples) == 0.3 * (len(base.examples) + len(trained.examples))
    split = in_distribution(rotated, 0)
    parts = [drawings_of(part) for part in (split.train, split.base, split.novel)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    for over in ("base", "base+val"):
        for by in ("class", "superclass"):
            for index in range(3):
                fold = fold_benchmark(rotated, index=index, folds=3, over=over, by=by)
                trained = drawings_of(fold.train)
                for measured in MEASURED:
                    assert not drawings_of(fold.distribution(measured)) & trained


def test_the_real_omniglot(real_omniglot):
    """Its names, and one drawing; all 32,460 would take long to decode."""
    with ExitStack() as stack:
        characters = omniglot._characters(omniglot._open_parts(real_omniglot, stack))
        part, tree, drawings = characters["Alphabet_of_the_Magi/character01"]
        ink = 255 - np.asarray(read_image(tree, drawings[0], "grey"))
    assert part == "images_background"
    assert ink.shape == (105, 105)
    assert set(np.unique(ink)) == {0, 255}
    assert 0.005 < (ink == 255).mean() < 0.2  # bright strokes on black
    names, parts = [*characters], [part for part, _, _ in characters.values()]
    split = omniglot.partition("vinyals", names, parts, 0)
    for measured, source in (("base", "train"), ("val", "val"), ("novel", "test")):
        lists = real_omniglot.parent / "splits" / f"omniglot_vinyals_{source}.txt"
        assert {names[label] for label in split[measured]} == set(lists.read_text().split())
    metadl = omniglot.partition("metadl", names, parts, 0)
    assert {parts[label] for label in metadl["novel"]} == {"images_evaluation"}
    assert [len(metadl["novel"]), len(metadl["base"]) + len(metadl["val"])] == [659, 964]
