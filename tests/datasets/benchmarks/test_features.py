import io
import json
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from fsl_sweep.datasets.benchmarks import features as module
from fsl_sweep.datasets.benchmarks.features import Features, file_signature
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MachineFailure, MissingData

CLASSES, ROWS, WIDTH = 10, 6, 5
SPLIT = ["base"] * 6 + ["val"] * 2 + ["novel"] * 2


def arrays(**changes):
    """Rows of all classes mixed; a change of None leaves an array out."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(CLASSES), ROWS))
    made = {"features": rng.normal(size=(len(labels), WIDTH)), "labels": labels, **changes}
    return {name: array for name, array in made.items() if array is not None}


@pytest.fixture
def save(tmp_path):
    def save(compressed=False, **changes):
        path = tmp_path / "features.npz"
        (np.savez_compressed if compressed else np.savez)(path, **arrays(**changes))
        return path

    return save


class TestFeatures(BenchmarkContract):
    benchmark = Features
    options = {"held_out": 0.4}  # noqa: RUF012

    def root(self, tmp_path):
        np.savez(tmp_path / "clip.npz", **arrays())
        return tmp_path / "clip.npz"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f8"])
def test_rows_come_back_as_they_are(save, tmp_path, compressed, dtype):
    features = arrays()["features"].astype(dtype)
    benchmark = open_benchmark("features", {}, save(compressed, features=features), tmp_path)
    pool = benchmark.train.pool
    assert pool.holds_features
    np.testing.assert_array_equal(pool.images[:, :, 0, 0], features.astype(np.float32))
    np.testing.assert_array_equal(pool.labels, arrays()["labels"])
    assert pool.class_names == tuple(map(str, range(CLASSES)))
    assert (benchmark.pixel_mean, benchmark.pixel_std) == ((0.0,) * WIDTH, (1.0,) * WIDTH)


def test_many_blocks_are_one_array(save, tmp_path, monkeypatch):
    whole = open_benchmark("features", {}, save(), tmp_path / "one").fingerprint
    monkeypatch.setattr(module, "_BATCH", 7)
    assert open_benchmark("features", {}, save(), tmp_path / "two").fingerprint == whole


def test_labels_may_be_words_or_any_integers_or_numbers_of_names(save, tmp_path):
    words = np.array([f"class {c}" for c in range(CLASSES)])
    labels = arrays()["labels"]
    numbered = open_benchmark("features", {}, save(names=words), tmp_path / "a").train.pool
    for change in ({"labels": words[labels]}, {"labels": words[labels].astype("S")}):
        pool = open_benchmark("features", {}, save(**change), tmp_path / "b").train.pool
        assert pool.fingerprint == numbered.fingerprint
    sparse = open_benchmark("features", {}, save(labels=10 - 3 * labels), tmp_path / "c").train.pool
    assert sparse.class_names == tuple(map(str, range(-17, 11, 3)))
    np.testing.assert_array_equal(sparse.labels, CLASSES - 1 - labels)


def test_the_split_of_the_file_then_lists_then_drawn(save, tmp_path):
    labels = arrays()["labels"]
    split, animals = np.array(SPLIT), np.array(["cat", "dog"] * 5)
    path = save(split=split[labels], superclasses=animals[labels])

    def classes(**options):
        benchmark = open_benchmark("features", options, path, tmp_path)
        assert benchmark.train.pool.superclasses == tuple(animals)
        return [benchmark.distribution(s).classes.tolist() for s in ("base", "val", "novel")]

    assert classes() == classes(seed=3) == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]
    lists = tmp_path / "split.json"
    lists.write_text(json.dumps({"base": ["0", "7"], "val": ["1", "2"], "novel": ["5", "6"]}))
    assert classes(split_file=lists) == [[0, 7], [1, 2], [5, 6]]
    path = save(superclasses=np.array(list("aabbccddee"))[labels])
    benchmark = open_benchmark("features", {"by": "superclass"}, path, tmp_path)
    for name in ("base", "val", "novel"):
        assert (benchmark.distribution(name).classes.reshape(-1, 2) % 2 == [0, 1]).all()


def test_the_signature_is_of_the_arrays_and_not_of_the_place(save, tmp_path):
    first = file_signature(save())
    assert file_signature(save().rename(tmp_path / "moved.npz")) == first
    assert file_signature(save(labels=arrays()["labels"][::-1].copy())) != first


def test_safetensors_hold_the_same_features(save, tmp_path):
    one, other = tmp_path / "clip.safetensors", tmp_path / "moved.safetensors"
    for path in (one, other):
        save_file(arrays(), path)
    benchmark = open_benchmark("features", {}, one, tmp_path / "a")
    assert (
        benchmark.fingerprint == open_benchmark("features", {}, save(), tmp_path / "b").fingerprint
    )
    assert file_signature(one) == file_signature(other)
    save_file(arrays(labels=LABELS[::-1].copy()), other)
    assert file_signature(one) != file_signature(other)
    one.write_bytes(one.read_bytes()[:-9])
    with pytest.raises(BadData, match=r"clip\.safetensors is not a readable \.npz or"):
        open_benchmark("features", {}, one, tmp_path / "c")


def changed(row, value):
    features = arrays()["features"]
    features[row, 2] = value
    return features


LABELS, NAMES = arrays()["labels"], np.array(list("abcdefghij"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "has the arrays features; it needs features"),
        ({"superclass": LABELS}, "has the arrays features, labels, superclass; it needs"),
        ({"labels": LABELS.astype(object)}, "Object arrays cannot be loaded .* with plain numbers"),
        ({"features": changed(17, np.nan)}, "Row 17 of the features of .* has NaN"),
        ({"features": changed(3, 1e39)}, "Row 3 of the features .* a value beyond float32"),
        ({"features": arrays()["features"].astype(int)}, "must be floats .* it is int64"),
        ({"features": np.zeros((0, 5))}, r"must be floats \[N, d\]; it is float64 \[0, 5\]"),
        ({"labels": LABELS[:-1]}, r"'labels' .* or strings \[60\]; it is int64 \[59\]"),
        ({"labels": LABELS.astype(float)}, "'labels' .* must be integers or strings"),
        ({"split": np.array(SPLIT)}, r"'split' of .* must be strings \[60\]; .* \[10\]"),
        ({"split": np.array(["train", *SPLIT[1:]])[LABELS]}, "has 'train'; it must say base, val"),
        ({"split": np.array(SPLIT * 6)}, "'split' of .* differs between rows of class '"),
        ({"names": np.array([*"abcdefgh", "é", "e\u0301"])}, "two classes 'é'"),
        ({"names": np.array([*"abcdefgh", "i", " "])}, "empty class name"),
        ({"names": np.array(list("abcdefghijk"))}, "not all the numbers from 0 to 10"),
        ({"names": np.array(list("abcdefghi"))}, "has 9 names, but its labels are not all"),
        ({"names": NAMES, "labels": LABELS.astype(str)}, "names its classes twice: in labels"),
        ({"superclasses": LABELS}, "'superclasses' .* must be strings"),
        ({"names": NAMES[:, None]}, "'names' .* must be strings"),
    ],
)
def test_arrays_that_cannot_be_used(save, tmp_path, changes, message):
    path = save(**changes)
    with pytest.raises(BadData, match=message) as info:
        open_benchmark("features", {}, path, tmp_path / "home")
    assert str(path) in str(info.value)
    assert not list((tmp_path / "home").glob("datasets/[!.]*"))


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(shape, dtype="'<f8'"):
    text = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a/features.npy": b""}, "is not an array"),
        ({"evil.txt": b""}, "is not an array"),
        ({"features.npy": b"not numpy"}, "is not a readable .npz or"),
        ({"features.npy": npy(np.zeros((4, 4)))[:-8]}, "is not a readable"),
        ({"features.npy": header((10**15, 4))}, "does not fit into the memory"),
        ({"features.npy": header((-2, -2)) + bytes(32)}, "is not a readable"),
        ({"features.npy": header("(__import__('os').system('id'),)")}, "is not a readable"),
        ({"features.npy": header((2, 2), "'|O'")}, "Object arrays"),
        ({"features.npy": npy(np.zeros(3, dtype=[("a", "f8")])).ljust(9)}, "must be floats"),
    ],
)
def test_hostile_members_are_refused(tmp_path, members, message):
    path = tmp_path / "hostile.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"labels.npy": npy(np.zeros(4, int)), **members}.items():
            archive.writestr(name, content)
    with pytest.raises((BadData, MachineFailure), match=message):
        open_benchmark("features", {}, path, tmp_path / "home")


def test_a_bomb_is_refused_before_it_is_expanded(save, tmp_path, monkeypatch):
    monkeypatch.setattr("fsl_sweep.datasets.benchmarks.features._MOST_BYTES", 3000)
    with pytest.raises(BadData, match=r"would expand to \d+ bytes"):
        open_benchmark("features", {}, save(compressed=True), tmp_path / "home")


def test_a_damaged_truncated_or_other_file_is_named(save, tmp_path):
    path = save()
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(BadData, match=r"features\.npz is not a readable \.npz or"):
        open_benchmark("features", {}, path, tmp_path)
    rotten = bytearray(whole)
    rotten[len(rotten) // 3] ^= 1
    path.write_bytes(rotten)
    with pytest.raises(BadData, match=r"is not a readable .* \(Bad CRC"):
        open_benchmark("features", {}, path, tmp_path)
    with pytest.raises(BadData, match="is a folder"):
        open_benchmark("features", {}, tmp_path, tmp_path)
    with pytest.raises(MissingData, match=r"nothing at .*an \.npz or \.safetensors file with"):
        open_benchmark("features", {}, tmp_path / "gone.npz", tmp_path)
