import io
import json

import numpy as np
import pytest
from pools import write_files, write_zip
from safetensors.numpy import save_file

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks import features as module
from fsl_sweep.datasets.benchmarks.features import Features, file_signature
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData

CLASSES, ROWS, WIDTH = 10, 6, 5
SPLIT = ["base"] * 6 + ["val"] * 2 + ["novel"] * 2
LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(CLASSES), ROWS))
VALUES = np.random.default_rng(1).normal(size=(len(LABELS), WIDTH))
WORDS = np.array(list("abcdefghij"))


def arrays(**changes):
    """Rows of all classes mixed; a change of None leaves an array out."""
    made = {"features": VALUES, "labels": LABELS, **changes}
    return {name: array for name, array in made.items() if array is not None}


class TestFeatures(BenchmarkContract):
    benchmark = Features
    options = {"held_out": 0.4}  # noqa: RUF012

    def root(self, tmp_path):
        np.savez(tmp_path / "clip.npz", **arrays())
        return tmp_path / "clip.npz"


@pytest.fixture
def save(tmp_path):
    def save(compressed=False, **changes):
        path = tmp_path / "features.npz"
        (np.savez_compressed if compressed else np.savez)(path, **arrays(**changes))
        return path

    return save


@pytest.mark.parametrize(("dtype", "compressed"), [("<f2", False), ("<f4", True), (">f8", False)])
def test_rows_come_back_as_they_are(save, opened, compressed, dtype, monkeypatch):
    monkeypatch.setattr(module, "_BATCH", 7)  # many blocks are one array
    benchmark = opened("features", save(compressed, features=VALUES.astype(dtype)))
    pool = benchmark.train.pool
    assert pool.holds_features
    expected = VALUES.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(pool.images[:, :, 0, 0], expected)
    np.testing.assert_array_equal(pool.labels, LABELS)
    assert pool.class_names == tuple(map(str, range(CLASSES)))
    assert (benchmark.pixel_mean, benchmark.pixel_std) == ((0.0,) * WIDTH, (1.0,) * WIDTH)


def test_labels_may_be_words_or_any_integers_or_numbers_of_names(save, opened):
    words = [{"names": WORDS}, {"labels": WORDS[LABELS]}, {"labels": WORDS[LABELS].astype("S")}]
    pools = [opened("features", save(**change)).train.pool for change in words]
    assert len({pool.fingerprint for pool in pools}) == 1
    assert pools[0].class_names == tuple(WORDS)
    sparse = opened("features", save(labels=10 - 3 * LABELS)).train.pool
    assert sparse.class_names == tuple(map(str, range(-17, 11, 3)))
    np.testing.assert_array_equal(sparse.labels, CLASSES - 1 - LABELS)


def test_the_split_of_the_file_then_lists_then_drawn(save, opened, tmp_path):
    animals = np.array(["cat", "dog"] * 5)
    path, lists = save(split=np.array(SPLIT)[LABELS], superclasses=animals[LABELS]), tmp_path / "s"
    lists.write_text(json.dumps({"base": ["0", "7"], "val": ["1", "2"], "novel": ["5", "6"]}))

    def classes(**options):
        benchmark = opened("features", path, **options)
        return [benchmark.distribution(split).classes.tolist() for split in MEASURED]

    assert opened("features", path).train.pool.superclasses == tuple(animals)
    assert classes() == classes(seed=3) == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]
    assert classes(split_file=lists) == [[0, 7], [1, 2], [5, 6]]
    path = save(superclasses=np.array(list("aabbccddee"))[LABELS])
    for drawn in classes(by="superclass"):
        assert (np.reshape(drawn, (-1, 2)) % 2 == [0, 1]).all()


def test_the_signature_is_of_the_arrays_and_not_of_the_place(save, opened, tmp_path, refused):
    changed = LABELS[::-1].copy()
    first = file_signature(save())
    assert file_signature(save().rename(tmp_path / "moved.npz")) == first
    assert file_signature(save(labels=changed)) != first
    files = [tmp_path / f"{name}.safetensors" for name in ("clip", "moved", "changed")]
    for path, labels in zip(files, (LABELS, LABELS, changed), strict=True):
        save_file(arrays(labels=labels), path)
    assert opened("features", files[0]).fingerprint == opened("features", save()).fingerprint
    first, moved, other = map(file_signature, files)
    assert first == moved != other
    files[0].write_bytes(files[0].read_bytes()[:-9])
    message = refused(opened, "features", files[0])
    assert message.startswith(
        "BadData: TMP/clip.safetensors is not a readable .npz or .safetensors"
    )


def changed(row, value):
    """The features with another value in a row."""
    return np.where((np.arange(60) == row)[:, None], value, VALUES)


BAD_ARRAYS = {
    "no labels": {"labels": None},
    "unknown array": {"superclass": LABELS},
    "objects": {"labels": LABELS.astype(object)},
    "NaN": {"features": changed(17, np.nan)},
    "beyond float32": {"features": changed(3, 1e39)},
    "integer features": {"features": VALUES.astype(int)},
    "no rows": {"features": np.zeros((0, 5))},
    "too few labels": {"labels": LABELS[:-1]},
    "float labels": {"labels": LABELS.astype(float)},
    "too few splits": {"split": np.array(SPLIT)},
    "unknown split": {"split": np.array(["train", *SPLIT[1:]])[LABELS]},
    "class in two splits": {"split": np.array(SPLIT * 6)},
    "same name twice": {"names": np.array([*"abcdefgh", "é", "e\u0301"])},
    "blank name": {"names": np.array([*"abcdefgh", "i", " "])},
    "too many names": {"names": np.array(list("abcdefghijk"))},
    "too few names": {"names": np.array(list("abcdefghi"))},
    "names twice": {"names": WORDS, "labels": LABELS.astype(str)},
    "integer superclasses": {"superclasses": LABELS},
    "names in columns": {"names": WORDS[:, None]},
}


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(shape, dtype="'<f8'"):
    text = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


BAD_MEMBERS = {
    "folder": {"a/features.npy": b""},
    "no array": {"evil.txt": b""},
    "no npy": {"features.npy": b"not numpy"},
    "cut off": {"features.npy": npy(np.zeros((4, 4)))[:-8]},
    "petabytes": {"features.npy": header((10**15, 4))},
    "negative": {"features.npy": header((-2, -2)) + bytes(32)},
    "code": {"features.npy": header("(__import__('os').system('id'),)")},
    "object header": {"features.npy": header((2, 2), "'|O'")},
    "records": {"features.npy": npy(np.zeros(3, dtype=[("a", "f8")])).ljust(9)},
}


def test_files_that_cannot_be_used_are_refused_and_leave_nothing(
    save, opened, tmp_path, refused, snapshot, monkeypatch
):
    def message_of(path):
        return refused(opened, "features", path)

    messages = {what: message_of(save(**changes)) for what, changes in BAD_ARRAYS.items()}
    for what, members in BAD_MEMBERS.items():
        members = {"labels.npy": npy(np.zeros(4, int)), **members}
        messages[what] = message_of(write_zip(tmp_path / "hostile.npz", members))
    whole = save().read_bytes()
    rotten = bytearray(whole)
    rotten[len(rotten) // 3] ^= 1
    write_files(tmp_path, {"truncated.npz": whole[:-100], "rotten.npz": bytes(rotten)})
    for name in ("truncated.npz", "rotten.npz", "gone.npz", ""):
        messages[name] = message_of(tmp_path / name)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_MOST_BYTES", 3000)
        messages["a bomb"] = message_of(save(compressed=True))
    assert messages == snapshot
    assert not list((tmp_path / "home").glob("datasets/[!.]*"))
    for name, problem in (("hostile", "Object arrays"), ("rotten", "Bad CRC")):
        write_zip(tmp_path / "hostile.npz", BAD_MEMBERS["object header"])
        with pytest.raises(BadData, match=rf"readable .* file \({problem}"):
            opened("features", tmp_path / f"{name}.npz")
