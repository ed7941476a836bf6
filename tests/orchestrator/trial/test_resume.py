"""States to go on from that were altered, moved, or made by someone else: none changes a number."""

import io
import itertools
import random
import shutil
from collections import Counter
from contextlib import nullcontext, suppress

import hostile
import pytest
import torch
from made import benchmark, trainable

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


def run(folder, spec, data, epochs=None):
    """Run a trial, all of it or some epochs, as a fresh process would; give its storage."""
    storage = Ledger(folder).trial(spec.id)
    for _ in itertools.islice(Trial(spec, storage, data).run(), epochs):
        pass
    return storage


def content(storage):
    """Weights byte for byte, and the numbers, of each epoch."""
    files = sorted((storage.folder.path / "snapshots").iterdir())
    return [file.read_bytes() for file in files], numbers(storage)


def numbers(storage):
    """Counts and loss of each epoch."""
    epochs = [storage.read_epoch(epoch) for epoch in (1, 2, 3)]
    counts = [{k: s.correct.tolist() for k, s in one.scores.items()} for one in epochs]
    return counts, [one.train_loss for one in epochs]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, data):
    """What each trial gives that nobody stopped."""
    place = tmp_path_factory.mktemp("whole")
    return {name: content(run(place / name, spec, data)) for name, spec in SPECS.items()}


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
    for at in [*range(100), *rng.sample(range(len(state)), 300), len(state) - 1]:
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


def entry(state):
    """What the optimizer keeps of the first parameter that it moved, and under which name."""
    kept = next(iter(state["optimizer"]["state"].values()))
    return kept, "momentum_buffer" if "momentum_buffer" in kept else "exp_avg"


def put(part, key, value):
    part[key] = value


def group(state):
    return state["optimizer"]["param_groups"][0]


WRONG = {
    "nothing": lambda s: s.clear(),
    "no epoch": lambda s: s.pop("epoch"),
    "an epoch that is a text": lambda s: put(s, "epoch", "2"),
    "an epoch that is true": lambda s: put(s, "epoch", True),
    "epoch 0": lambda s: put(s, "epoch", 0),
    "an epoch beyond the last": lambda s: put(s, "epoch", 4),
    "no seconds": lambda s: s.pop("spent"),
    "seconds that are no number": lambda s: put(s, "spent", float("nan")),
    "seconds before 0": lambda s: put(s, "spent", -1.0),
    "no weights": lambda s: s.pop("learner"),
    "weights in a list": lambda s: put(s, "learner", list(s["learner"].values())),
    "one of the weights missing": lambda s: s["learner"].pop(first(s)),
    "one of the weights too many": lambda s: put(s["learner"], "more", torch.zeros(1)),
    "weights that are a text": lambda s: put(s["learner"], first(s), "x"),
    "weights of another shape": lambda s: put(s["learner"], first(s), torch.zeros(1)),
    "weights of another type": lambda s: put(
        s["learner"], first(s), s["learner"][first(s)].double() + 1e-12
    ),
    "sparse weights": lambda s: put(s["learner"], first(s), s["learner"][first(s)].to_sparse()),
    "no optimizer": lambda s: s.pop("optimizer"),
    "an optimizer that is a number": lambda s: put(s, "optimizer", 3),
    "an optimizer without groups": lambda s: s["optimizer"].pop("param_groups"),
    "two groups": lambda s: s["optimizer"]["param_groups"].append(dict(group(s))),
    "another weight decay": lambda s: put(group(s), "weight_decay", 0.3),
    "a rate that is a text": lambda s: put(group(s), "lr", "x"),
    "a parameter that there is not": lambda s: put(s["optimizer"]["state"], 99, entry(s)[0]),
    "an entry of another name": lambda s: put(entry(s)[0], "other", torch.zeros(1)),
    "an empty entry": lambda s: entry(s)[0].clear(),
    "an entry of another shape": lambda s: put(*entry(s), torch.zeros(1)),
    "an entry of another type": lambda s: put(*entry(s), entry(s)[0][entry(s)[1]].half()),
    "an entry in one number's memory": lambda s: put(
        *entry(s), torch.zeros(1).expand(entry(s)[0][entry(s)[1]].shape)
    ),
}


CASES = [("sgd", wrong) for wrong in WRONG] + [("adam", w) for w in WRONG if "entry" in w]


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_whole_state_that_does_not_fit_is_not_used(tmp_path, data, stopped, whole, name, wrong):
    spec, storage = SPECS[name], copied(stopped, tmp_path, name)
    state = torch.load(io.BytesIO(storage.read_resume()), weights_only=True)
    WRONG[wrong](state)
    torch.save(state, buffer := io.BytesIO())
    storage.write_resume(buffer.getvalue())
    trained = len(list(Trial(spec, storage, data).run()))
    assert (trained, content(storage)) == (3, whole[name])


@pytest.mark.parametrize("state", [b"", b"torn", b"\x80\x04N.", b"PK\x03\x04"])
def test_what_torch_did_not_save_is_not_used(tmp_path, data, stopped, whole, state):
    copied(stopped, tmp_path).write_resume(state)
    assert content(run(tmp_path, SPECS["sgd"], data)) == whole["sgd"]


@pytest.mark.parametrize("name", SPECS)
def test_a_state_that_fits_is_used(tmp_path, data, stopped, whole, name):
    storage = copied(stopped, tmp_path, name)
    trained = len(list(Trial(SPECS[name], storage, data).run()))
    assert (trained, content(storage)) == (1, whole[name])


def test_a_harmed_folder_gives_the_identical_trial_or_a_message(tmp_path, data, stopped, whole):
    rng, ended = random.Random(9), Counter()
    for number in range(20):
        place = tmp_path / str(number)
        storage = copied(stopped, place / "run")
        (place / "outside").mkdir()
        kind, where = hostile.harm(place / "run", rng)
        outside = hostile.state(place / "outside")
        with suppress(RunFolderError) if kind in hostile.KINDS else nullcontext():
            run(place / "run", SPECS["sgd"], data)
            # A snapshot that was harmed before stays so, and is refused where it is used.
            assert numbers(storage) == whole["sgd"][1], (kind, where)
            ended["identical"] += 1
        assert hostile.state(place / "outside") == outside, (kind, where)
    assert 5 < ended["identical"] < 20
