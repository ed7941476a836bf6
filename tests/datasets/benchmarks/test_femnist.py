"""FEMNIST from LEAF's JSON files."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from places import REAL_DATA
from pools import counts_of, write_files

from fsl_sweep.datasets.benchmarks.femnist import Femnist, open_leaf, read_users
from fsl_sweep.datasets.preparing.inventory import check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.episodes import VaryingShape
from fsl_sweep.datasets.testing import BenchmarkContract

LABELS = [0, 0, 0, 0, 9, 9, 9, 9, 9, 10, 10, 35, 36, 61]


def drawings(seed: int, labels=LABELS) -> dict:
    """One user's record; pixels are whole 255ths, as LEAF's are."""
    pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 784))
    return {"x": (pixels / 255).tolist(), "y": list(labels)}


def leaf(users: dict[str, dict], /, **changes) -> str:
    return json.dumps({"users": list(users), "user_data": users, **changes})


def write_leaf(folder: Path, writers: int = 12, files: int = 2) -> Path:
    """``data/all_data`` of so many writers, as LEAF's preprocessing leaves it."""
    content = {
        f"data/all_data/all_data_{number}.json": leaf(
            {f"f{n:04d}_00": drawings(n) for n in range(number, writers, files)}
        )
        for number in range(files)
    }
    return write_files(folder, content)


class TestFemnist(BenchmarkContract):
    benchmark = Femnist

    def root(self, tmp_path):
        return write_leaf(tmp_path)

    def kinds(self, distribution):
        return set(distribution.writers.tolist())


def store(root: Path, home: Path):
    return prepare("femnist", root, {}, home)[0]


def test_images_labels_and_writers_are_those_of_the_files_in_every_form(tmp_path):
    root = write_leaf(tmp_path / "leaf")
    (pool,) = store(root, tmp_path).pools().values()
    order = [*range(0, 12, 2), *range(1, 12, 2)]
    expected = [np.rint(np.array(drawings(n)["x"]) * 255).reshape(-1, 1, 28, 28) for n in order]
    np.testing.assert_array_equal(pool.images, np.concatenate(expected))
    assert pool.labels.tolist() == LABELS * 12
    assert pool.writers.tolist() == np.repeat(np.arange(12), len(LABELS)).tolist()
    named = [pool.class_names[label] for label in sorted(set(LABELS))]
    assert named == ["0", "9", "A", "Z", "a", "z"]
    kinds = [pool.superclasses[label] for label in (9, 35, 36)]
    assert kinds == ["digits", "capitals", "small letters"]
    write_files(root, {"data/sampled_data/all_data_niid_1.json": "not looked at"})
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", root))
    forms = [root, root / "data", root / "data" / "all_data", archive]
    stores = [store(form, tmp_path / str(n)) for n, form in enumerate(forms)]
    prints = {prepared.pools()["main"].fingerprint for prepared in stores}
    assert prints == {pool.fingerprint}


def test_files_are_read_by_their_numbers_and_a_person_in_two_files_is_one(write_tree, tmp_path):
    users = {f"all_data_{n}.json": leaf({f"u{n}": drawings(n, [0])}) for n in (10, 2)}
    with open_leaf(write_tree(users)) as files:
        assert [user for user, _, _ in read_users(*files)] == ["u2", "u10"]
    parts = {
        f"data/{part}/all_data_0_keep_0_{part}_9.json": leaf(
            {f"u{n}": drawings(n, labels) for n in range(3)}
        )
        for part, labels in (("train", [1, 1, 2]), ("test", [1, 2]))
    }
    (pool,) = store(write_tree(parts, "parts"), tmp_path / "home").pools().values()
    assert np.bincount(pool.writers).tolist() == [5, 5, 5]
    assert sorted(pool.labels[pool.writers == 1]) == [1, 1, 1, 2, 2]


GOOD = drawings(0, [0, 1])


def with_pixel(value) -> dict:
    x = [list(image) for image in GOOD["x"]]
    x[1][5] = value
    return {**GOOD, "x": x}


BAD_USERS = [
    1,
    {"y": [0, 1]},
    *({**GOOD, "y": labels} for labels in ([0], [0, 62], [0, 1.0])),
    *({**GOOD, "x": x} for x in ([GOOD["x"][0], GOOD["x"][1][:783]], [7, GOOD["x"][1]])),
    *map(with_pixel, (1.5, -1, "0", [0], None, float("nan"))),
]
BAD_FILES = {
    "a bare list": "[1, 2]",
    "half": "{",
    "no data": "{}",
    "deep": "[" * 100_000,
    "no text": b'{"users": ["\xff"]}',
    "more": leaf({"u": GOOD}) + "x",
    "a list": leaf({"u": GOOD}, user_data=[GOOD]),
    "no images": leaf({"u": {"x": [], "y": []}}),
    **{f"user {n}": leaf({"u": user}) for n, user in enumerate(BAD_USERS)},
}
BAD_TREES = {
    "twice": {f"all_data_{n}.json": leaf({"u": GOOD}) for n in (0, 1)},
    "no files": {"images/1.txt": ""},
    "other folders": {"a/x.json": "{}", "train/x.json": "{}"},
}


def test_what_leaf_did_not_write_is_refused_and_leaves_nothing(refusals, tmp_path, snapshot):
    cases = {what: {"all_data_0.json": text} for what, text in BAD_FILES.items()}
    assert refusals("femnist", {**cases, **BAD_TREES}) == snapshot
    assert not list((tmp_path / "home" / "datasets").glob("[!.]*"))


@pytest.mark.slow
def test_the_first_real_writers(tmp_path):
    """Those of the first of six files, to be quick."""
    whole = REAL_DATA / "femnist-leaf" / "mnist_writers_leaf.zip"
    if not whole.exists():
        pytest.skip(f"no real writers at {whole}: they are NOT checked")
    with zipfile.ZipFile(whole) as archive:
        archive.extract("data/all_data/all_data_0.json", tmp_path / "leaf")
    benchmark = open_benchmark("femnist", {}, tmp_path / "leaf", tmp_path)
    people, images = zip(*counts_of(benchmark).values(), strict=True)
    assert (people, sum(images)) == ((62, 62, 14, 14), 10_005)
    assert not np.intersect1d(benchmark.train.examples, benchmark.base.examples).size
    assert benchmark.novel.classes.tolist() == list(range(10))
    # Paper is white, and there is more of it than ink.
    assert 0.8 < benchmark.pixel_mean[0] < 0.95
    drawn = benchmark.novel.sample(200, VaryingShape(None, 1, None), np.random.default_rng(0))
    assert set((drawn.classes >= 0).sum(axis=1)) <= set(range(8, 11))
    queries = (drawn.query >= 0).sum(axis=(1, 2))
    assert queries.min() < 90 < queries.max()
    assert check("femnist", home=tmp_path).problems == ()
