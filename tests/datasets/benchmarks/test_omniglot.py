import io
import zipfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from pools import encoded, superclasses_of

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks import omniglot
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.benchmarks.omniglot import (
    PARTS,
    Omniglot,
    OmniglotOptions,
    rotated_name,
)
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData


def published() -> list[str]:
    lists = read_facts("omniglot_vinyals.json")["characters"].values()
    spans = [(name, span) for ranges in lists for name, span in ranges.items()]
    return sorted(f"{a}/character{n:02d}" for a, (x, y) in spans for n in range(x, y + 1))


def alphabet_parts() -> dict[str, str]:
    """Alphabets to official parts such that the parts have the official numbers of characters."""
    sizes: dict[str, int] = {}
    for name in published():
        alphabet = name.partition("/")[0]
        sizes[alphabet] = sizes.get(alphabet, 0) + 1
    reachable: dict[int, list[str]] = {0: []}  # subset sum: 964 characters in 30 alphabets
    for alphabet, size in sizes.items():
        for total, chosen in list(reachable.items()):
            reachable.setdefault(total + size, [*chosen, alphabet])
    background = set(reachable[PARTS["images_background"]])
    return {a: "images_background" if a in background else "images_evaluation" for a in sizes}


DRAWERS = 4


@cache
def made_archives() -> dict[str, bytes]:
    """Omniglot's names, with a bar for a drawing: its length is the drawer's number, up to 4."""
    drawings = []
    for drawer in range(1, DRAWERS + 1):
        pixels = np.ones((21, 21), dtype=bool)
        pixels[0, :drawer] = False
        drawings.append(encoded(pixels))
    parts, streams = alphabet_parts(), {part: io.BytesIO() for part in PARTS}
    with ExitStack() as stack:
        archives = {p: stack.enter_context(zipfile.ZipFile(s, "w")) for p, s in streams.items()}
        for number, name in enumerate(published(), 1):
            part = parts[name.partition("/")[0]]
            for drawer, drawing in enumerate(drawings, 1):
                archives[part].writestr(f"{part}/{name}/{number:04d}_{drawer:02d}.png", drawing)
    return {part: stream.getvalue() for part, stream in streams.items()}


def write_imitation(root: Path) -> Path:
    for part, content in made_archives().items():
        (root / f"{part}.zip").write_bytes(content)
    return root


@pytest.fixture
def few_drawers(monkeypatch) -> None:
    monkeypatch.setattr(omniglot, "DRAWERS", DRAWERS)


@pytest.mark.usefixtures("few_drawers")
class TestOmniglot(BenchmarkContract):
    benchmark = Omniglot
    options: ClassVar = {"split": "vinyals", "image_size": 8, "held_out": 0.5}

    def root(self, tmp_path):
        return write_imitation(tmp_path)


@pytest.fixture(scope="module")
def imitation(tmp_path_factory) -> Path:
    return write_imitation(tmp_path_factory.mktemp("imitation"))


@pytest.fixture(scope="module")
def home(imitation, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(omniglot, "DRAWERS", DRAWERS)
        open_benchmark("omniglot", {"image_size": 21}, imitation, folder)
    return folder


def test_pixels_drawers_and_alphabets(home):
    pool = open_benchmark("omniglot", {"image_size": 21}, None, home).train.pool
    np.testing.assert_array_equal(pool.writers[:6], [1, 2, 3, 4, 1, 2])
    np.testing.assert_array_equal((pool.images[:, 0, 0] == 255).sum(1), pool.writers)
    assert (pool.images[:, :, 1:] == 0).all()  # ink is bright, paper is black
    assert pool.superclasses == tuple(n.partition("/")[0] for n in pool.class_names)


def test_alphabets_are_drawn_whole_in_their_shares(home):
    owners = []
    for seed in (0, 1):
        benchmark = open_benchmark("omniglot", {"image_size": 21, "seed": seed}, None, home)
        groups = [superclasses_of(benchmark, split) for split in MEASURED]
        assert [len(group) for group in groups] == [30, 8, 12]
        assert len(set().union(*groups)) == 50
        owners.append(groups)
    assert owners[0] != owners[1]
    metadl = open_benchmark("omniglot", {"image_size": 21, "split": "metadl"}, None, home)
    assert metadl.counts["novel"].classes == 659


@pytest.mark.usefixtures("few_drawers")
def test_an_incomplete_part_is_refused(imitation, tmp_path):
    (tmp_path / "images_evaluation.zip").symlink_to(imitation / "images_evaluation.zip")
    with zipfile.ZipFile(imitation / "images_background.zip") as whole:
        names = [name.removeprefix("images_background/") for name in whole.namelist()]
    for held, message in (
        (names[:-1], r"has 3 drawings of .*; one by each of 4 people"),
        (["Greek/character01/0394_01.png"], "has 1 characters; the official part has 964"),
        (["notes.txt"], r"notes\.txt, which is not Alphabet/characterNN"),
    ):
        with zipfile.ZipFile(tmp_path / "images_background.zip", "w") as part:
            for name in held:
                part.writestr(f"images_background/{name}", b"")
        with pytest.raises(BadData, match=message):
            open_benchmark("omniglot", {}, tmp_path, tmp_path)


def test_missing_parts_say_where_they_were_looked_for(tmp_path):
    with pytest.raises(MissingData, match=r"in none of .*github\.com/brendenlake/omniglot") as info:
        open_benchmark("omniglot", {}, tmp_path, tmp_path)
    assert str(tmp_path / "omniglot") in str(info.value)
    (tmp_path / "omniglot" / "images_evaluation").mkdir(parents=True)
    with pytest.raises(MissingData, match=r"neither images_background\.zip nor a folder"):
        open_benchmark("omniglot", {}, tmp_path, tmp_path)


def rotated_pool(alphabets=5, characters=4, drawings=10) -> ImagePool:
    """Random drawings, each character followed by its turns, as the preparation writes them."""
    rng = np.random.default_rng(0)
    names, images = [], []
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


@pytest.fixture(scope="module")
def rotated():
    options = OmniglotOptions(rotations=True, held_out=0.3)
    return Omniglot().assemble(options, {"main": rotated_pool()})


def test_no_held_out_example_is_a_turn_of_a_training_drawing(rotated):
    base, trained = rotated.base, rotated.train
    assert len(drawings_of(base)) == len(base.examples) / 4  # with all of their turns
    assert not drawings_of(base) & drawings_of(trained)
    assert len(base.examples) == 0.3 * (len(base.examples) + len(trained.examples))


def test_in_distribution_no_share_has_a_turn_of_anothers_drawing(rotated):
    split = in_distribution(rotated, 0)
    parts = [drawings_of(part) for part in (split.train, split.base, split.novel)]
    assert sum(map(len, parts)) == len(set.union(*parts))


@pytest.mark.parametrize("over", ["base", "base+val"])
@pytest.mark.parametrize("by", ["class", "superclass"])
def test_no_fold_is_measured_on_turns_of_training_drawings(rotated, over, by):
    for index in range(3):
        fold = fold_benchmark(rotated, index=index, folds=3, over=over, by=by)
        trained = drawings_of(fold.train)
        for split in MEASURED:
            assert not drawings_of(fold.distribution(split)) & trained


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


def test_turned_characters_are_classes_of_their_own(imitation, tmp_path, few_drawers):
    options = {"split": "vinyals", "rotations": True, "image_size": 8}
    benchmark = open_benchmark("omniglot", options, imitation, tmp_path)
    assert Omniglot().expected(OmniglotOptions.model_validate(options)) == {
        split: benchmark.counts[split].classes for split in MEASURED
    }
    pool = benchmark.train.pool
    np.testing.assert_array_equal(np.bincount(pool.labels), np.full(4 * 1623, DRAWERS))
    assert pool.class_names[1] == "Alphabet_of_the_Magi/character01@90"
    np.testing.assert_array_equal(pool.images[DRAWERS + 3, 0], np.rot90(pool.images[3, 0]))
    for split in MEASURED:
        names = [pool.class_names[c] for c in benchmark.distribution(split).classes]
        assert len(names) == 4 * len({name.partition("@")[0] for name in names})
