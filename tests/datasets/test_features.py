"""Features that are kept on disk are those that would be computed, or are computed."""

import errno
import fcntl
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fsl_sweep.datasets.store import features
from fsl_sweep.datasets.store.features import clear, kept_bytes, kept_features

ROW = 8 + 5 * 4  # bytes of an index and its five features


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(features.LIMIT)
    return tmp_path / "home"


class Backbone:
    """Features of any index, with a note of those that were computed."""

    def __init__(self, salt=0.0):
        self.salt, self.passed = salt, []

    def __call__(self, indices):
        self.passed.extend(indices.tolist())
        return self.true(indices)

    def true(self, indices):
        return (np.sin(indices[:, None] + np.arange(5)) + self.salt).astype(np.float32)

    def ask(self, indices, key="key"):
        """The features of these, which must be right; and how many were computed for them."""
        before, indices = len(self.passed), np.asarray(indices)
        assert kept_features(key, indices, self).tobytes() == self.true(indices).tobytes()
        return len(self.passed) - before


def files(home):
    return sorted((home / "features").glob("*/*.npy"))


def test_each_index_is_computed_once_and_a_few_are_compared(home):
    backbone = Backbone()
    assert backbone.ask(range(0, 3000, 2)) == 1500
    assert backbone.ask(range(0, 3000, 2)) == features._COMPARED
    assert backbone.ask([7, 4, 3001, 2998]) == 2 + 2 * 2  # compared again once it has the lock
    assert backbone.ask([3001, 4, 7]) == 3
    assert backbone.ask([4], key="another") == 1
    assert len(files(home)) == 3
    assert kept_bytes() == sum(file.stat().st_size for file in files(home)) == clear()
    assert (kept_bytes(), clear(), backbone.ask([4])) == (0, 0, 1)


@pytest.mark.parametrize("place", [3, 60, 130, -ROW - 9, -ROW + 1, -1, "truncated", "empty"])
def test_a_damaged_file_is_never_used_and_replaced(home, place):
    backbone = Backbone()
    backbone.ask(range(100))
    (file,) = files(home)
    whole = file.read_bytes()
    damaged = bytearray(whole)
    if isinstance(place, int):
        damaged[place] ^= 4
    file.write_bytes({"truncated": whole[:-ROW], "empty": b""}.get(place, damaged))
    assert backbone.ask(range(100)) == 100
    assert files(home) == [file]
    assert file.read_bytes() == whole


def test_what_would_be_computed_otherwise_now_is_not_used(home):
    """The key does not know all: new kernels of a library, other code of a plug-in."""
    Backbone().ask(range(100))
    changed = Backbone(salt=1e-3)
    assert changed.ask(range(100)) == features._COMPARED + 100
    assert changed.ask(range(100)) == features._COMPARED


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def half(*_):
    yield b"half"
    full()


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("fsl_sweep.datasets.store.features._blocks", half),
        ("shutil.disk_usage", lambda _: SimpleNamespace(free=features._LEFT_FREE)),
        *((name, full) for name in ("shutil.disk_usage", "fcntl.flock", "os.utime")),
        *((f"pathlib.Path.{name}", full) for name in ("mkdir", "glob", "open", "unlink")),
    ],
)
def test_without_disk_or_locks_features_are_computed(home, monkeypatch, name, broken):
    with monkeypatch.context() as patch:
        patch.setattr(name, broken)
        for _ in range(2):
            Backbone().ask(range(50))
    assert not [*home.rglob("*.part")]
    assert Backbone().ask(range(50)) in (50, features._COMPARED)


def test_a_home_that_is_no_folder_costs_nothing(home):
    home.write_text("")
    assert [Backbone().ask(range(50)) for _ in range(2)] == [50, 50]


def test_what_was_not_used_for_longest_goes(home, monkeypatch):
    monkeypatch.setenv(features.LIMIT, str(3.5 * 100 * ROW / 1e9))
    backbone = Backbone()
    for age, key in enumerate("abc"):
        backbone.ask(range(100), key)
        (file,) = (home / "features" / key).glob("*.npy")
        os.utime(file, (age, age))
    backbone.ask(range(100), "a")  # used now
    backbone.ask(range(100), "d")
    assert sorted(path.name for path in (home / "features").iterdir()) == ["a", "c", "d"]
    backbone.ask(range(400), "larger than all")
    assert len(files(home)) == 3


@pytest.mark.parametrize(
    ("limit", "computed"), [("0", 50), ("-1", 50), ("nan", 50), ("many", 16), ("inf", 16)]
)
def test_the_limit_is_a_number_of_gigabytes(home, monkeypatch, limit, computed):
    monkeypatch.setenv(features.LIMIT, limit)
    assert [Backbone().ask(range(50)) for _ in range(2)] == [50, computed]


def test_who_wants_what_is_being_computed_waits_for_it(home, monkeypatch):
    """The first computes until the second has come to the lock, and cannot have passed it."""
    flock, arrived, second_is_here = fcntl.flock, [], threading.Event()

    def arriving(*call):
        arrived.append(call)
        if len(arrived) == 2:
            second_is_here.set()
        flock(*call)

    monkeypatch.setattr(fcntl, "flock", arriving)
    first, second = Backbone(), Backbone()
    answers = []

    def slowly(indices):
        thread.start()
        assert second_is_here.wait(60)
        return first(indices)

    thread = threading.Thread(target=lambda: answers.append(second.ask(range(50))))
    kept_features("key", np.arange(50), slowly)
    thread.join()
    assert (len(first.passed), answers) == (50, [features._COMPARED])
