"""FEMNIST from LEAF's JSON files."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from places import REAL_DATA
from pools import counts_of

from fsl_sweep.datasets.benchmarks.femnist import Femnist, open_leaf, read_users
from fsl_sweep.datasets.preparing.inventory import check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.episodes import VaryingShape
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData

LABELS = [0, 0, 0, 0, 9, 9, 9, 9, 9, 10, 10, 35, 36, 61]


def drawings(seed: int, labels=LABELS) -> dict:
    """One user's record; pixels are whole 255ths, as LEAF's are."""
    pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 784))
    return {"x": (pixels / 255).tolist(), "y": list(labels)}


def leaf(users: dict[str, dict], /, **changes) -> str:
    return json.dumps({"users": list(users), "user_data": users, **changes})


def write_leaf(folder: Path, writers: int = 12, files: int = 2) -> Path:
    """``data/all_data`` of so many writers, as LEAF's preprocessing leaves it."""
    place = folder / "data" / "all_data"
    place.mkdir(parents=True)
    for number in range(files):
        users = {f"f{n:04d}_00": drawings(n) for n in range(number, writers, files)}
        (place / f"all_data_{number}.json").write_text(leaf(users))
    return folder


class TestFemnist(BenchmarkContract):
    benchmark = Femnist

    def root(self, tmp_path):
        return write_leaf(tmp_path)

    def kinds(self, distribution):
        return set(distribution.writers.tolist())


def store(root: Path, home: Path):
    return prepare("femnist", root, {}, home)[0]


def test_images_labels_and_writers_are_those_of_the_files(tmp_path):
    (pool,) = store(write_leaf(tmp_path / "leaf"), tmp_path).pools().values()
    order = [*range(0, 12, 2), *range(1, 12, 2)]
    expected = [np.rint(np.array(drawings(n)["x"]) * 255).reshape(-1, 1, 28, 28) for n in order]
    np.testing.assert_array_equal(pool.images, np.concatenate(expected))
    assert pool.labels.tolist() == LABELS * 12
    assert pool.writers.tolist() == np.repeat(np.arange(12), len(LABELS)).tolist()
    named = [pool.class_names[label] for label in sorted(set(LABELS))]
    assert named == ["0", "9", "A", "Z", "a", "z"]
    found = [pool.superclasses[label] for label in (9, 35, 36)]
    assert found == ["digits", "capitals", "small letters"]


def test_every_form_of_the_source_gives_the_same_pools(tmp_path):
    root = write_leaf(tmp_path / "leaf")
    (root / "data" / "sampled_data").mkdir()
    (root / "data" / "sampled_data" / "all_data_niid_1.json").write_text("not looked at")
    (tmp_path / "packed").mkdir()
    archive = Path(shutil.make_archive(str(tmp_path / "packed" / "leaf"), "zip", root))
    forms = [root, root / "data", root / "data" / "all_data", archive, archive.parent]
    fingerprints = {store(form, tmp_path / str(n)).fingerprint for n, form in enumerate(forms)}
    assert len(fingerprints) == 1


def test_a_person_in_train_and_test_files_is_one_writer(tmp_path):
    for part, labels in (("train", [1, 1, 2]), ("test", [1, 2])):
        (tmp_path / "data" / part).mkdir(parents=True)
        users = {f"u{n}": drawings(n, labels) for n in range(3)}
        (tmp_path / "data" / part / f"all_data_0_keep_0_{part}_9.json").write_text(leaf(users))
    (pool,) = store(tmp_path, tmp_path / "home").pools().values()
    assert np.bincount(pool.writers).tolist() == [5, 5, 5]
    assert sorted(pool.labels[pool.writers == 1]) == [1, 1, 1, 2, 2]


def test_files_are_read_by_their_numbers(tmp_path):
    users = {number: {f"u{number}": drawings(number, [0])} for number in (10, 2)}
    for number, user in users.items():
        (tmp_path / f"all_data_{number}.json").write_text(leaf(user))
    with open_leaf(tmp_path) as files:
        assert [user for user, _, _ in read_users(*files)] == ["u2", "u10"]


GOOD = drawings(0, [0, 1])


def with_pixel(value) -> dict:
    x = [list(image) for image in GOOD["x"]]
    x[1][5] = value
    return {**GOOD, "x": x}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((text, "is not JSON as LEAF writes it") for text in ("[1, 2]", "{", "[" * 100_000)),
        (b'{"users": ["\xff"]}', "is not JSON as LEAF writes it"),
        (leaf({"u": GOOD}) + "x", "is not JSON as LEAF writes it, .* Extra data"),
        ("{}", "with an object 'user_data'"),
        (leaf({"u": GOOD}, user_data=[GOOD]), "with an object 'user_data'"),
        *(
            (leaf({"u": user}), "user 'u' must have lists x and y")
            for user in (
                1,
                {"y": [0, 1]},
                {**GOOD, "y": [0]},
                {**GOOD, "y": [0, 62]},
                {**GOOD, "y": [0, 1.0]},
                {**GOOD, "x": [GOOD["x"][0], GOOD["x"][1][:783]]},
                {**GOOD, "x": [7, GOOD["x"][1]]},
                *map(with_pixel, (1.5, -1, "0", [0], None, float("nan"))),
            )
        ),
    ],
)
def test_a_file_of_the_wrong_shape_is_named_and_leaves_nothing(
    write_tree, tmp_path, content, message
):
    content = content if isinstance(content, bytes) else content.encode()
    root = write_tree({"all_data_0.json": content})
    with pytest.raises(BadData, match=message) as caught:
        store(root, tmp_path / "home")
    assert str(caught.value).startswith(f"{root}/all_data_0.json")
    assert not list((tmp_path / "home" / "datasets").glob("[!.]*"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {f"all_data_{n}.json": leaf({"u": GOOD}) for n in (0, 1)},
            r"all_data_1.json repeats user 'u' of .*all_data_0.json",
        ),
        ({"all_data_0.json": leaf({"u": {"x": [], "y": []}})}, "holds no images"),
        ({"images/1.txt": ""}, r"a folder all_data .* there are none"),
        ({"a/x.json": "{}", "train/x.json": "{}"}, "there are JSON files in a, train"),
    ],
)
def test_files_that_are_not_leaf_s_are_refused(write_tree, tmp_path, files, message):
    root = write_tree({path: text.encode() for path, text in files.items()})
    with pytest.raises((BadData, MissingData), match=message):
        store(root, tmp_path / "home")


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
