"""A state to resume from that is damaged or does not fit never changes a number."""

import io
import random
import shutil
from collections import Counter
from contextlib import nullcontext, suppress

import hostile
import pytest
import torch
from made import benchmark, main_of, trainable
from trained import content, numbers, run

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.trial.trial import Trial, use_threads


@pytest.fixture(scope="module")
def data():
    use_threads(1)
    return benchmark()


SPECS = {
    "sgd": trainable(epochs=3),
    "adam": trainable(epochs=3, optimizer={"name": "adam", "lr": 0.01}, schedule=[[0, 0.01]]),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, data):
    """What each trial gives that nobody stopped."""
    place = tmp_path_factory.mktemp("whole")
    return {name: content(run(place / name, spec, data), data) for name, spec in SPECS.items()}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, data):
    """The folder of each trial, stopped after two epochs."""
    place = tmp_path_factory.mktemp("stopped")
    for name, spec in SPECS.items():
        run(place / name, spec, data, 2)
    return place


def copied(stopped, folder, name="sgd"):
    """The storage of a stopped trial of one's own."""
    shutil.copytree(stopped / name, folder, dirs_exist_ok=True)
    return Ledger(folder).trial(SPECS[name].id)


def state_path(storage):
    (path,) = storage.folder.path.glob("resume.*")
    return path


def test_every_single_bit_of_a_state_is_noticed(tmp_path, stopped):
    cut = copied(stopped, tmp_path)
    path, rng = state_path(cut), random.Random(5)
    state = path.read_bytes()
    for at in [*range(100), *rng.sample(range(len(state)), 100), len(state) - 1]:
        flipped = bytearray(state)
        flipped[at] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        assert cut.read_resume() is None, at
    for size in (0, 1, 50, len(state) // 2, len(state) - 1):
        path.write_bytes(state[:size])
        assert cut.read_resume() is None, size


def first(state):
    """The name of the first weights of a state."""
    return next(iter(state["learner"]))


WRONG = {
    "no epoch": lambda s: s.pop("epoch"),
    "no seconds": lambda s: s.pop("spent"),
    "one of the weights missing": lambda s: s["learner"].pop(first(s)),
    "weights of another shape": lambda s: s["learner"].update({first(s): torch.zeros(1)}),
    "weights of another type": lambda s: s["learner"].update(
        {first(s): s["learner"][first(s)].double() + 1e-12}
    ),
    "no optimizer": lambda s: s.pop("optimizer"),
    "two groups": lambda s: s["optimizer"]["param_groups"].append({}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_whole_state_that_does_not_fit_is_not_used(tmp_path, data, stopped, whole, wrong):
    """As of a learner of a plug-in whose layers were changed since."""
    spec, storage = SPECS["sgd"], copied(stopped, tmp_path)
    state = torch.load(io.BytesIO(storage.read_resume()), weights_only=True)
    WRONG[wrong](state)
    torch.save(state, buffer := io.BytesIO())
    storage.write_resume(buffer.getvalue())
    trained = len(list(Trial(spec, storage, data, main_of(data)).run()))
    assert (trained, content(storage, data)) == (3, whole["sgd"])


@pytest.mark.parametrize("state", [b"torn", b"\x80\x04N."])
def test_what_torch_did_not_save_is_not_used(tmp_path, data, stopped, whole, state):
    copied(stopped, tmp_path).write_resume(state)
    assert content(run(tmp_path, SPECS["sgd"], data), data) == whole["sgd"]


@pytest.mark.parametrize("name", SPECS)
def test_a_state_that_fits_is_used(tmp_path, data, stopped, whole, name):
    storage = copied(stopped, tmp_path, name)
    trained = len(list(Trial(SPECS[name], storage, data, main_of(data)).run()))
    assert (trained, content(storage, data)) == (1, whole[name])


def test_a_harmed_folder_gives_the_identical_trial_or_a_message(tmp_path, data, stopped, whole):
    rng, ended = random.Random(9), Counter()
    for number in range(12):
        place = tmp_path / str(number)
        storage = copied(stopped, place / "run")
        (place / "outside").mkdir()
        kind, where = hostile.harm(place / "run", rng)
        outside = hostile.state(place / "outside")
        with suppress(RunFolderError) if kind in hostile.KINDS else nullcontext():
            run(place / "run", SPECS["sgd"], data)
            # A snapshot that was harmed before stays so, and is refused where it is used.
            assert numbers(storage, data) == whole["sgd"][1:], (kind, where)
            ended["identical"] += 1
        assert hostile.state(place / "outside") == outside, (kind, where)
    assert 3 < ended["identical"] < 12
