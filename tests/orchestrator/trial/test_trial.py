"""One trial: interrupted, harmed, ended; no state that does not fit ever changes a number."""

import random
import re
import shutil
from collections import Counter
from contextlib import nullcontext, suppress

import hostile
import pytest
import submitted
import torch
from evaluated import CPU
from made import benchmark, main_of, planned, trainable
from safetensors.torch import load
from trained import (
    AUGMENTED,
    BATCHES,
    EPISODES,
    FIXED,
    content,
    history,
    numbers,
    put_state,
    run,
    state_of,
)

from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.planning.schedule import resolved_schedule
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.spec import Fold
from fsl_sweep.orchestrator.trial.training import Training
from fsl_sweep.orchestrator.trial.trial import Trial

pytestmark = pytest.mark.slow

ADAM = {"name": "adam", "lr": 0.01, "weight_decay": 0.0, "clip_norm": 0.01}
UNTRAINED = {"backbone": {"name": "identity"}, "optimizer": None, "schedule": [], "train": None}
MAML = {"name": "maml", "way": 3, "inner_steps": 2, "inner_steps_test": 1, "batch_norm": "running"}
META = {**BATCHES, "meta": {"epochs": 2, **EPISODES}}
OTHERS = {**FIXED, "shot": 2, "query": 3}


def of(name, epochs=2, options=(), **changes):
    """A trial of a learner; of those that take their time, two epochs."""
    return trainable(epochs=epochs, learner={"name": name, **dict(options)}, **changes)


KINDS = {
    "episodes": trainable(train=FIXED, augment=AUGMENTED, schedule=[[0, 0.1], [1, 0.01]]),
    "batches": of("supervised", 3, train=BATCHES, optimizer=ADAM, schedule=[[0, 0.01]]),
    "bf16": of("ridge", 3, precision="bf16"),
    "maml, running": of("maml", 3, MAML),
    "meta-baseline": of("meta-baseline", 3, train=META),
    "fold": trainable(fold={"folds": 3, "index": 1, "over": "base+val"}),
    "metadelta": of("metadelta", options={"encoders": 2}, train=BATCHES),
    "pt-map": of("pt-map", train=BATCHES),
    "conv-qda": of("conv-qda"),
    "finetune": of("finetune", options={"steps": 2}, train=BATCHES),
    "classifier": of("classifier", train=BATCHES),
    "every second epoch": trainable(epochs=5, every=2),
    "untrained": of("logistic", 1, batches=0, **UNTRAINED),
    # FIX-ML is for learners of either kind, and the training episode is not the measured one.
    "svm of six ways": of("svm", 1, train={**OTHERS, "way": 6}),
    "fomaml of more shots": of("fomaml", 1, {"way": 3, "inner_steps_test": 1}, train=OTHERS),
    "submission": submitted.spec("protos-go-on", epochs=2, augment=AUGMENTED),
    "submission without a state": submitted.spec("protos", "batch", epochs=2, augment=AUGMENTED),
}
SPEC = trainable()


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


def resumed(storage, spec, data):
    """How many epochs a trial trains that goes on, and its content."""
    return len([*Trial(spec, storage, data, main_of(data)).run()]), content(storage, data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_that_is_measured_again_or_resumed_is_the_same_bit_for_bit(tmp_path, data, kind):
    spec, has_state = KINDS[kind], kind != "submission without a state"
    if kind == "classifier":
        data = in_distribution(benchmark(examples=40), seed=0)
    storage, main = run(tmp_path / "uninterrupted", spec, data), main_of(data)
    assert history(storage, spec, data).complete
    assert (storage.read_resume() is not None) is (has_state and kind != "untrained")
    files, epochs = ("end.json", f"measured/{main.id}.parquet"), spec.recorded_epochs
    expected, measured = content(storage, data), [*map(storage.folder.read, files)]
    assert [*expected[0]] == [f"{epoch:04}.safetensors" for epoch in epochs]
    assert len(set(expected[0].values())) == len(epochs)
    curves = history(storage, spec, data).curves
    unknown = {str(curves[name][0]) for name in ("train_loss", "learning_rate")} == {"nan"}
    assert unknown is (kind.split()[0] in ("untrained", "submission"))
    storage.folder.remove(files[1])
    todo = {epoch: [main] for epoch in storage.to_measure(main.id)}
    again = [*Measuring(spec, storage, {MAIN: data}, todo, CPU).run()]
    assert again == [*todo] == epochs
    assert [*map(storage.folder.read, files)] == measured
    assert [*storage.folder.path.glob("measured/**/*.*")] == [storage.folder.path / files[1]]
    for stop in range(1, len(epochs)):
        storage = run(tmp_path / f"cut{stop}", spec, data, epochs=stop)
        assert (storage.read_resume() is not None) is has_state
        torch.rand(7)  # a new process has another global state
        assert resumed(storage, spec, data) == (len(epochs) - stop * has_state, expected)


def further(spec, epochs):
    """The same trial, trained to another epoch."""
    return spec.model_copy(update={"epochs": epochs})


def seen(storage, spec, data):
    """What a report sees of a trial, and the weights of its snapshots."""
    shown = history(storage, spec, data)
    names = ("train_loss", "learning_rate")
    curves = [[str(value) for value in shown.curves[name]] for name in names]
    scores = {key: table.load().tolist() for key, table in shown.scores.items()}
    epochs = shown.epochs.tolist()
    weights = [storage.check_snapshot(epoch).read_bytes() for epoch in epochs]
    return shown.end, shown.damaged, shown.complete, epochs, curves, scores, weights


# With momentum and augmentation; Adam; inner steps; and programs.
FURTHER = ["episodes", "batches", "maml, running", "submission", "submission without a state"]


@pytest.mark.parametrize("kind", FURTHER)
def test_a_trial_that_is_trained_further_is_the_one_that_is_trained_at_once(tmp_path, data, kind):
    """And read up to fewer epochs, the one that was trained to these."""
    spec, main = KINDS[kind], main_of(data).id
    more, trained = further(spec, spec.epochs + 1), []
    at_once = seen(run(tmp_path / "at once", more, data), more, data)
    assert at_once[0].status == "done"
    storage = run(tmp_path / "further", spec, data)
    first = seen(storage, spec, data)
    for resumes in (kind != "submission without a state", False):
        if trained:  # once its state was pruned, all of it is trained again
            shutil.rmtree(tmp_path / "further")
            run(tmp_path / "further", spec, data)
            storage.remove_resume()
        assert storage.resumes_after(more) == resumes * spec.epochs
        assert storage.unfinished(planned(more), main)
        trained.append(len([*Trial(more, storage, data, main_of(data)).run()]))
        assert seen(storage, more, data) == at_once
        assert seen(storage, spec, data) == first
        assert [storage.unfinished(planned(s), main) for s in (spec, more)] == [False, False]
    assert trained == [more.epochs if kind == FURTHER[-1] else 1, more.epochs]


def test_a_schedule_or_a_stage_that_depends_on_the_epochs_makes_another_trial():
    """Where a step is does not: a trial may be trained to before it, and beyond."""
    stages = KINDS["meta-baseline"]
    rates = resolved_schedule({"cosine": {}}, 0.1, 3), resolved_schedule({"cosine": {}}, 0.1, 5)
    cosine = [trainable(schedule=rate, epochs=len(rate)) for rate in rates]
    for few, many in (cosine, (stages, further(stages, 5))):
        assert few.id != many.id
    steps = KINDS["episodes"]
    assert steps.id == further(steps, 1).id != steps.model_copy(update={"every": 2}).id


# Epochs trained and recorded first, then epochs asked for, and how many are trained for these.
EVERY = {"more": (3, 7, 2), "fewer": (7, 4, 0), "a last one that lacks": (7, 5, 2)}


@pytest.mark.parametrize("case", EVERY)
def test_of_every_second_epoch_the_last_one_may_lack_or_be_superfluous(tmp_path, data, case):
    first, then, trained = EVERY[case]
    every = trainable(every=2)
    before, after = further(every, first), further(every, then)
    expected = seen(run(tmp_path / "at once", after, data), after, data)
    storage = run(tmp_path / "again", before, data)
    known = seen(storage, before, data)
    records = {epoch for spec in (before, after) for epoch in spec.recorded_epochs}
    assert storage.unfinished(planned(after), main_of(data).id) is (trained > 0)
    if trained:
        run(tmp_path / "again", after, data)
    assert seen(storage, after, data) == expected
    assert seen(storage, before, data) == known
    assert set(storage.snapshots()) == records if trained else {*before.recorded_epochs}


def test_a_trial_that_is_trained_until_an_epoch_goes_on_or_is_stopped(tmp_path, data, undisturbed):
    storage, main, trial = Ledger(tmp_path).trial(SPEC.id), main_of(data), planned(SPEC)
    left = lambda: [storage.unfinished(trial, main.id, until) for until in (1, 2, 3, None)]  # noqa: E731
    assert left() == [True] * 4
    for until, ahead in ((1, [False, True, True, True]), (2, [False, False, True, True])):
        assert [r.epoch for r in Trial(SPEC, storage, data, main).run(until)] == [until]
        assert left() == ahead
        assert history(storage, SPEC, data).end is None
    storage.end(TrialEnd("stopped", "rank 3 of 3", trained=2), main.id)
    stopped = history(storage, SPEC, data)
    assert (stopped.end.status, stopped.complete, stopped.epochs.tolist()) == (
        "stopped",
        False,
        [1, 2],
    )
    assert left() == [False] * 4
    # To as many epochs as it has, it was trained as planned.
    assert history(storage, further(SPEC, 2), data).complete
    storage.reopen()
    assert left() == [False, False, True, True]
    assert resumed(storage, SPEC, data) == (1, undisturbed)


def test_what_keeps_no_snapshot_keeps_no_state(tmp_path, data):
    assert run(tmp_path, SPEC, data, keep="none").resume_size() == 0


@pytest.mark.parametrize("state", ["refused", "no tensor"])
def test_a_submission_that_cannot_load_its_state_starts_again(tmp_path, data, monkeypatch, state):
    spec, load = KINDS["submission"], submitted.GoesOn.load
    expected = content(run(tmp_path / "uninterrupted", spec, data), data)
    storage = run(tmp_path / "cut", spec, data, epochs=1)

    def refuses(self, path):
        load(self, path)  # half of it is done before it fails
        raise RuntimeError("what is this?")

    if state == "refused":
        monkeypatch.setattr(submitted.GoesOn, "load", refuses)
    else:
        put_state(storage, {"epoch": 1, "spent": 0.5, "program": [1, 2]})
    assert resumed(storage, spec, data) == (2, expected)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, data):
    """What the trial gives that nobody stopped."""
    return content(run(tmp_path_factory.mktemp("undisturbed"), SPEC, data), data)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, data):
    """The folder of the trial, stopped after two epochs, and its state after the first."""
    place = tmp_path_factory.mktemp("stopped")
    state = run(place, SPEC, data, 1).read_resume()
    run(place, SPEC, data, 1)
    return place, state


def copied(stopped, folder):
    """The storage of a stopped trial of one's own."""
    shutil.copytree(stopped[0], folder, dirs_exist_ok=True)
    return Ledger(folder).trial(SPEC.id)


def first(state):
    """The name of the first weights of a state."""
    return next(iter(state["learner"]))


# States that fit their checksum and nothing else, as of a plug-in whose layers were changed since.
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
OTHER = (
    "what torch did not save",
    "a pickle of nothing",
    "an incomplete record",
    "a crash",
    "a state of another run",
)


@pytest.mark.parametrize("wrong", [*WRONG, *OTHER])
def test_what_does_not_fit_is_not_used_and_the_trial_starts_again(
    tmp_path, data, stopped, undisturbed, wrong
):
    """After a crash between record and state epoch 2 is recorded; the state is still epoch 1's."""
    storage = copied(stopped, tmp_path)
    if wrong in WRONG:
        state = state_of(storage)
        WRONG[wrong](state)
        put_state(storage, state)
    elif wrong == "an incomplete record":
        storage.folder.write(f"measured/{main_of(data).id}/0001.record", b"half")
    elif wrong == "a crash":
        storage.write_resume(stopped[1], 1)
    elif wrong == "a state of another run":
        other = run(tmp_path / "other", SPEC, benchmark(examples=40), 2).folder
        storage.folder.write("resume.state", other.read("resume.state"))
    else:
        storage.write_resume([b"no state", b"\x80\x04N."][OTHER.index(wrong)], 2)
    assert resumed(storage, SPEC, data) == (2 if wrong == "a crash" else 3, undisturbed)


def test_every_single_bit_of_a_state_is_noticed(tmp_path, stopped):
    cut, rng = copied(stopped, tmp_path), random.Random(5)
    (path,) = cut.folder.path.glob("resume.*")
    last = len(state := path.read_bytes()) - 1
    for at in [*range(100), *rng.sample(range(last), 100), last]:
        bit = bytes([state[at] ^ 1 << rng.randrange(8)])
        for harmed in (state[:at] + bit + state[at + 1 :], state[:at]):
            path.write_bytes(harmed)
            assert cut.read_resume() is None, at


def test_a_harmed_folder_gives_the_identical_trial_or_a_message(
    tmp_path, data, stopped, undisturbed
):
    rng, ended = random.Random(9), Counter()
    for number in range(12):
        place = tmp_path / str(number)
        storage = copied(stopped, place / "run")
        (place / "outside").mkdir()
        kind, where = hostile.harm(place / "run", rng)
        outside = hostile.state(place / "outside")
        with suppress(RunFolderError) if kind in hostile.KINDS else nullcontext():
            run(place / "run", SPEC, data)
            # A snapshot that was harmed before stays so, and is refused where it is used.
            assert numbers(storage, data) == undisturbed[1:], (kind, where)
            ended["identical"] += 1
        assert hostile.state(place / "outside") == outside, (kind, where)
    assert 3 < ended["identical"] < 12


def test_a_fold_trial_trains_on_the_other_classes_and_is_measured_on_the_folds(tmp_path, data):
    fold = {"folds": 3, "index": 1, "seed": 4}
    spec = trainable(fold=fold, learner={"name": "supervised"}, train=BATCHES)
    trial = Trial(spec, Ledger(tmp_path).trial(spec.id), data, main_of(data))
    assert trial.benchmark.fingerprint == fold_benchmark(data, **fold).fingerprint
    assert len(trial.benchmark.val.classes) == 4
    snapshots, _, losses = content(run(tmp_path, spec, data), data)
    # Its classifier knows 8 of the 12 base classes, and its draws are its own, as a seed's are.
    assert load(snapshots["0003.safetensors"])["classifier.bias"].shape == (8,)
    for change in ({"fold": Fold(folds=3, index=2, seed=4)}, {"seed": 1}):
        other = run(tmp_path, spec.model_copy(update=change), data)
        assert len({*losses, *content(other, data)[2]}) == 6


def broken_head(self, support, query):
    logits = -torch.cdist(query, support.mean(dim=2))
    return logits if self.training else logits * float("nan")


def overflowing(self, epoch, of=Training.epoch):
    """A last step whose loss is a number, and which makes a weight infinite, in epoch 2."""
    yield from of(self, epoch)
    if epoch == 2:
        next(self.learner.parameters()).data.flatten()[0] = float("inf")


def no_memory(*_):
    raise torch.OutOfMemoryError("tried to allocate 3 TiB")


def deaf(self, meta_dataset, fit=submitted.MetaLearner.meta_fit):
    """Swallows the news that its budget is spent."""
    try:
        return fit(self, meta_dataset)
    except Exception:
        return submitted.Learner(self.network)


LITTLE = {"budget": {"seconds": 1e-6}}
FAULTS = ["meta_fit", "again", "nothing saved", "fit"]
FAULTS += ["nan", "too many", "floats", "transposed", "nothing"]
# Of which trial, and what is patched.
ENDS = {
    "diverging": (trainable(schedule=[[0, 0.1], [2, 1e30]], epochs=5, batches=3), None),
    "overflowing": (SPEC, (Training, "epoch", overflowing)),
    "broken": (SPEC, (Protonet, "head", broken_head)),
    "spent": (trainable(**LITTLE), None),
    "spent submission": (submitted.spec(**LITTLE), None),
    "deaf": (submitted.spec(**LITTLE), (submitted.MetaLearner, "meta_fit", deaf)),
    "memory": (SPEC, (Evaluator, "measure", no_memory)),
    **{fault: (submitted.spec(options={"answers": fault}), None) for fault in FAULTS},
}


@pytest.mark.parametrize("cause", ENDS)
def test_what_ends_a_trial_is_recorded_and_what_was_measured_before_stays(
    tmp_path, data, monkeypatch, cause, snapshot
):
    spec, patched = ENDS[cause]
    with monkeypatch.context() as patch:
        if patched is not None:
            patch.setattr(*patched)
        storage = run(tmp_path, spec, data)
    recorded, again = history(storage, spec, data), cause == "memory"
    reason = re.sub(r"\d+ of \d+", "N of M", recorded.end.reason)  # as many as are answered at once
    assert f"{recorded.end.status}: {reason}" == snapshot
    assert recorded.end.retriable is again
    assert recorded.epochs.tolist() == {"diverging": [1, 2], "overflowing": [1]}.get(cause, [])
    assert recorded.complete is recorded.diverged
    assert storage.unfinished(planned(spec), main_of(data).id) is again
    if again:
        assert history(run(tmp_path, spec, data), spec, data).complete


def test_the_budget_counts_what_was_spent_before_an_interruption(tmp_path, data):
    spec = trainable(budget={"seconds": 1000.0})
    storage = run(tmp_path, spec, data, epochs=1)
    state = state_of(storage)
    assert 0 < state["spent"] < 1000
    put_state(storage, {**state, "spent": 1001.0})
    recorded = history(run(tmp_path, spec, data), spec, data)
    assert (recorded.end.status, recorded.epochs.tolist()) == ("budget", [1])
