import io

import pytest
import torch
from made import benchmark, main_of, planned, trainable
from safetensors.torch import load
from trained import content, history, run

from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.spec import Fold
from fsl_sweep.orchestrator.trial.trial import Trial, use_threads

EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
VARIANTS = {
    "episodes": {
        "train": {**EPISODES, "fixed_support": True},
        "augment": "crop-jitter-flip",
        "schedule": [[0, 0.1], [1, 0.01]],
    },
    "batches": {
        "learner": {"name": "supervised"},
        "train": {"batch_size": 8},
        "optimizer": {"name": "adam", "lr": 0.01, "weight_decay": 0.0, "clip_norm": 0.01},
        "schedule": [[0, 0.01]],
    },
    "bf16": {"learner": {"name": "ridge"}, "precision": "bf16"},
    "maml-running": {
        "learner": {
            "name": "maml",
            "way": 3,
            "inner_steps": 2,
            "inner_steps_test": 1,
            "batch_norm": "running",
        },
    },
    "meta-baseline": {
        "learner": {"name": "meta-baseline"},
        "train": {"batch_size": 8, "meta": {"epochs": 2, **EPISODES}},
    },
    "fold": {"fold": {"folds": 3, "index": 1, "over": "base+val"}},
}


@pytest.fixture(scope="module")
def data():
    use_threads(1)
    return benchmark()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_resumed_trial_equals_an_uninterrupted_one_bit_for_bit(tmp_path, data, variant):
    spec = trainable(epochs=3, **VARIANTS[variant])
    whole = content(run(tmp_path / "whole", spec, data), data)
    assert len(whole[0]) == 3
    assert len(set(whole[0].values())) == 3
    for stop in (1, 2):
        run(tmp_path / f"cut{stop}", spec, data, epochs=stop)
        torch.rand(7)  # a new process has another global state
        assert content(run(tmp_path / f"cut{stop}", spec, data), data) == whole


def test_a_crash_between_record_and_state_repeats_one_epoch(tmp_path, data):
    spec = trainable(epochs=3)
    whole = content(run(tmp_path / "whole", spec, data), data)
    storage = run(tmp_path / "cut", spec, data, epochs=1)
    state = storage.read_resume()
    run(tmp_path / "cut", spec, data, epochs=1)
    storage.write_resume(state)  # epoch 2 is recorded, the state is still epoch 1's
    assert storage.recorded(main_of(data).id) == {1, 2}
    assert content(run(tmp_path / "cut", spec, data), data) == whole


def test_a_torn_record_is_repaired_by_training_again(tmp_path, data):
    spec = trainable(epochs=3)
    whole = content(run(tmp_path / "whole", spec, data), data)
    storage = run(tmp_path / "cut", spec, data, epochs=2)
    (storage.folder.path / "measured" / main_of(data).id / "0001.record").write_bytes(b"torn")
    assert content(run(tmp_path / "cut", spec, data), data) == whole


def test_a_fold_trial_trains_on_the_other_classes_and_is_measured_on_the_folds(tmp_path, data):
    fold = {"folds": 3, "index": 1, "seed": 4}
    spec = trainable(fold=fold, learner={"name": "supervised"}, train={"batch_size": 8})
    trial = Trial(spec, Ledger(tmp_path).trial(spec.id), data, main_of(data))
    assert trial.benchmark.fingerprint == fold_benchmark(data, index=1, folds=3, seed=4).fingerprint
    assert len(trial.benchmark.val.classes) == 4
    snapshots, _, losses = content(run(tmp_path, spec, data), data)
    # Its classifier knows 8 of the 12 base classes, and its draws are its own.
    assert load(snapshots["0003.safetensors"])["classifier.bias"].shape == (8,)
    other = spec.model_copy(update={"fold": Fold(folds=3, index=2, seed=4)})
    assert content(run(tmp_path, other, data), data)[2] != losses


def test_a_finished_trial_is_done_and_leaves_no_state(tmp_path, data):
    spec = trainable()
    storage = run(tmp_path, spec, data)
    found = history(storage, spec, data)
    assert found.complete
    assert found.epochs.tolist() == [1, 2, 3]
    assert storage.read_resume() is None
    _, _, losses = content(storage, data)
    assert len(set(losses)) == 3
    assert content(run(tmp_path, trainable(seed=1), data), data)[2] != losses


def test_every_second_epoch_is_recorded_and_the_last(tmp_path, data):
    spec = trainable(epochs=5, every=2)
    whole = content(run(tmp_path / "whole", spec, data), data)
    assert list(whole[0]) == [f"000{i}.safetensors" for i in (2, 4, 5)]
    run(tmp_path / "cut", spec, data, epochs=1)
    assert content(run(tmp_path / "cut", spec, data), data) == whole


def test_a_loss_that_is_not_finite_ends_the_trial_and_keeps_what_was_measured_before(
    tmp_path, data
):
    spec = trainable(schedule=[[0, 0.1], [2, 1e30]], epochs=5, batches=3)
    storage = run(tmp_path, spec, data)
    found = history(storage, spec, data)
    assert found.end.status == "failed"
    assert "loss became nan in epoch" in found.end.reason
    assert found.epochs.tolist()[:2] == [1, 2]
    assert not found.complete
    assert not storage.unfinished(planned(spec), main_of(data).id)


def test_answers_that_are_not_numbers_end_the_trial_instead_of_counting_as_guesses(
    tmp_path, data, monkeypatch
):
    from fsl_sweep.learners.methods.protonet import Protonet

    head = Protonet.head

    def breaks_down(self, support, query):
        logits = head(self, support, query)
        return logits if self.training else logits * float("nan")

    monkeypatch.setattr(Protonet, "head", breaks_down)
    spec = trainable()
    found = history(run(tmp_path, spec, data), spec, data)
    assert found.end.status == "failed"
    assert found.end.reason.startswith("epoch 1 could not be measured: the learner's answers to")
    assert not found.end.retriable


def test_a_spent_budget_ends_the_trial_with_its_reason(tmp_path, data):
    spec = trainable(budget={"seconds": 1e-6})
    found = history(run(tmp_path, spec, data), spec, data)
    assert found.end.status == "budget"
    assert found.end.reason == "the budget of 1e-06 s was spent in epoch 1, step 1"


def test_the_budget_counts_what_was_spent_before_an_interruption(tmp_path, data):
    spec = trainable(budget={"seconds": 1000.0})
    storage = run(tmp_path, spec, data, epochs=1)
    state = torch.load(io.BytesIO(storage.read_resume()), weights_only=True)
    assert 0 < state["spent"] < 1000
    state["spent"] = 1001.0
    torch.save(state, buffer := io.BytesIO())
    storage.write_resume(buffer.getvalue())
    found = history(run(tmp_path, spec, data), spec, data)
    assert (found.end.status, found.epochs.tolist()) == ("budget", [1])


def test_running_out_of_memory_is_recorded_and_may_be_tried_again(tmp_path, data, monkeypatch):
    from fsl_sweep.orchestrator.measuring.evaluator import Evaluator

    spec = trainable()

    def out_of_memory(*_):
        raise torch.OutOfMemoryError("tried to allocate 3 TiB")

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "measure", out_of_memory)
        storage = run(tmp_path, spec, data)
    end = history(storage, spec, data).end
    assert (end.status, end.retriable) == ("failed", True)
    assert end.reason == "out of memory: tried to allocate 3 TiB"
    assert history(run(tmp_path, spec, data), spec, data).complete


@pytest.mark.parametrize(
    ("learner", "way"),
    [({"name": "svm"}, 6), ({"name": "fomaml", "way": 3, "inner_steps_test": 1}, 3)],
    ids=str,
)
def test_a_learner_of_either_kind_trains_on_episodes_of_its_own_with_a_fixed_support(
    tmp_path, data, learner, way
):
    """FIX-ML is for any of them, and the training episode is not the measured one."""
    spec = trainable(
        epochs=1,
        learner=learner,
        train={"way": way, "shot": 2, "query": 3, "tasks_per_batch": 2, "fixed_support": True},
    )
    assert history(run(tmp_path, spec, data), spec, data).complete
