"""Programs with MetaDL's interface as trials."""

import io

import numpy as np
import pytest
import submitted
import torch
from made import benchmark, trainable
from trained import CPU, drawn, history, main, measured, only
from trained import content as recorded
from trained import run as run_trial

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.metadl.meta_dataset import challenge_images
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.submission import SubmissionTraining
from fsl_sweep.orchestrator.trial.trial import use_threads

EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
BATCHES = {"batch_size": 8}
KEY = "base", "report"


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


@pytest.fixture(scope="module")
def data():
    use_threads(1)
    return benchmark()


def spec(submission="protos", mode="episode", **changes):
    options = changes.pop("options", {})
    return trainable(
        learner={"name": "metadl", "submission": submission, "mode": mode, "options": options},
        backbone={"name": "identity"},
        optimizer=None,
        schedule=[],
        **{
            "train": EPISODES if mode == "episode" else BATCHES,
            "validation": {"way": 3, "shot": 1, "query": 2},
            **changes,
        },
    )


def program(data):
    return build_learner(
        {"name": "metadl", "submission": "protos"}, {"name": "identity"}, data.image_shape, 12, 5
    )


def run(folder, spec, data, epochs=None):
    return run_trial(folder, spec, data, epochs, main(data, 5, 3))


def content(storage, data):
    return recorded(storage, data, main(data, 5, 3))


def end(tmp_path, data, **changes):
    planned_spec = spec(**{"epochs": 1, **changes})
    return history(
        run(tmp_path / "run", planned_spec, data), planned_spec, data, main(data, 5, 3)
    ).end


@pytest.mark.parametrize("mode", ["episode", "batch"])
def test_a_submission_learns_the_embedded_benchmark(tmp_path, mode):
    options = {"base_alphabets": 2, "val_alphabets": 2, "novel_alphabets": 3, "examples": 20}
    easy = {"classes_per_alphabet": 6, "image_size": 16, "wobble": 0.06, "drift": 0.05}
    glyphs = open_benchmark("glyphs", {**options, **easy}, None, tmp_path / "home")
    one = spec(
        mode=mode,
        epochs=1,
        batches=60,
    )
    protocol = main(glyphs, 2, 60, episode=Episode(way=3, shot=1, query=3))
    storage = run_trial(tmp_path / "run", one, glyphs, protocol=protocol)
    assert history(storage, one, glyphs, protocol).complete
    novel = storage.read_epoch(1, protocol.id).scores["novel", "report"]
    standard_error = novel.accuracy.std(ddof=1) / np.sqrt(60)
    assert novel.mean - 2 * standard_error > 1 / 3 + 0.1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folder, specification and content of an uninterrupted trial of a program that can resume."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        submitted.install(folder / "site", patch)
        one = spec("protos-go-on", epochs=3, augment="crop-jitter-flip")
        found = content(run(folder / "run", one, data := benchmark()), data)
    assert len(set(found[0].values())) == 3
    return one, found


def test_an_interrupted_trial_continues_and_equals_an_uninterrupted_one(
    tmp_path, data, monkeypatch, whole
):
    one, expected = whole
    storage = run(tmp_path / "cut", one, data, epochs=2)
    assert storage.read_resume() is not None
    rounds, fit = [], submitted.MetaLearner.meta_fit
    monkeypatch.setattr(
        submitted.MetaLearner, "meta_fit", lambda *given: rounds.append(1) or fit(*given)
    )
    assert content(run(tmp_path / "cut", one, data), data) == expected
    assert len(rounds) == 1


def test_an_interrupted_trial_starts_again_and_equals_an_uninterrupted_one(tmp_path, data):
    one = spec("protos", "batch", epochs=2, augment="crop-jitter-flip")
    expected = content(run(tmp_path / "whole", one, data), data)
    storage = run(tmp_path / "cut", one, data, epochs=1)
    assert storage.read_resume() is None
    assert content(run(tmp_path / "cut", one, data), data) == expected


@pytest.mark.parametrize("state", ["refused", "no tensor"])
def test_a_program_that_cannot_load_its_state_starts_again(
    tmp_path, data, monkeypatch, whole, state
):
    one, expected = whole
    storage = run(tmp_path / "cut", one, data, epochs=2)
    load = submitted.GoesOn.load

    def refuses(self, path):
        load(self, path)  # half of it is done before it fails
        raise RuntimeError("what is this?")

    if state == "refused":
        monkeypatch.setattr(submitted.GoesOn, "load", refuses)
    else:
        torch.save({"epoch": 2, "spent": 0.5, "program": [1, 2]}, buffer := io.BytesIO())
        storage.write_resume(buffer.getvalue())
    assert content(run(tmp_path / "cut", one, data), data) == expected


def test_the_training_loss_and_rate_of_a_program_are_not_known(tmp_path, data):
    record = run(tmp_path, spec(epochs=1), data).read_epoch(1, main(data, 5, 3).id)
    assert np.isnan(record.train_loss)
    assert np.isnan(record.learning_rate)


class Recorder:
    """A program that keeps what it is given."""

    def meta_train(self, meta_dataset, seed):
        self.data, self.seed = meta_dataset, seed
        self.items = list(meta_dataset.meta_train_pipeline)


def given(data, epoch=1, check=lambda step: None, **changes):
    program = Recorder()
    SubmissionTraining(spec(**changes), data, program, CPU).epoch(epoch, check)
    return program


def pool_index(data, images):
    """Pool indices of images as a program has them."""
    raw = ((images + 1) / 2 * 255).round().astype(np.uint8).transpose(0, 3, 1, 2)
    known = {image.tobytes(): i for i, image in enumerate(data.train.pool.images)}
    return np.array([known[image.tobytes()] for image in raw])


def check_episode(episode, data, way, shot, query):
    assert episode.support_images.shape == (way * shot, 16, 16, 1)
    assert episode.support_images.dtype == np.float32
    assert episode.query_images.shape == (way * query, 16, 16, 1)
    seen = []
    for images, labels, classes in (episode[:3], episode[3:]):
        index = pool_index(data, images)
        assert set(index) <= set(data.train.examples)
        assert (data.train.classes[classes] == data.train.pool.labels[index]).all()
        assert set(labels) == set(range(way))
        assert len(set(zip(labels, classes, strict=True))) == way
        seen += index.tolist()
    assert len(set(seen)) == len(seen)


def test_episodes_have_the_challenges_six_places_and_no_example_twice(data):
    program = given(data, batches=5)
    assert len(program.items) == 5 * 2
    for episode, source in program.items:
        assert source == 0
        check_episode(episode, data, way=3, shot=1, query=2)
    assert program.data.mode == "episode"
    assert program.data.n_classes == 12
    assert program.data.image_shape == (16, 16, 1)


def test_batches_have_labels_of_all_base_classes(data):
    program = given(data, mode="batch", batches=20)
    assert len(program.items) == 20
    for (images, labels), _ in program.items:
        assert images.shape == (8, 16, 16, 1)
        index = pool_index(data, images)
        assert (data.train.classes[labels] == data.train.pool.labels[index]).all()
    assert program.data.mode == "batch"


def test_validation_episodes_are_of_training_examples_and_come_anew_in_each_pass(data):
    passes = given(data, mode="batch", batches=3).data.meta_valid_pipeline
    first, second = list(passes), list(passes)
    assert len(first) == len(second) == 3
    for episode, _ in first + second:
        check_episode(episode, data, way=3, shot=1, query=2)
    assert not np.array_equal(first[0][0].query_images, second[0][0].query_images)


def test_every_epoch_brings_other_data_and_another_seed(data):
    first, again, second = given(data), given(data), given(data, epoch=2)
    image = first.items[0][0].support_images
    assert np.array_equal(again.items[0][0].support_images, image)
    assert again.seed == first.seed != second.seed
    assert not np.array_equal(second.items[0][0].support_images, image)


def test_a_fixed_support_set_holds_for_a_program_too(data):
    fixed = spec(batches=40).model_copy(
        update={"train": trainable(train={**EPISODES, "fixed_support": True}).train}
    )
    program = Recorder()
    SubmissionTraining(fixed, data, program, CPU).epoch(1, lambda step: None)
    images = np.concatenate([episode.support_images for episode, _ in program.items])
    assert len(set(pool_index(data, images))) == 12


def test_the_budget_ends_a_program_even_if_it_swallows_the_news(tmp_path, data, monkeypatch):
    reason = "the budget of 1e-06 s was spent in epoch 1, step 1"
    found = end(tmp_path, data, budget={"seconds": 1e-6})
    assert (found.status, found.reason) == ("budget", reason)
    fit = submitted.MetaLearner.meta_fit

    def deaf(self, meta_dataset):
        try:
            return fit(self, meta_dataset)
        except Exception:
            return submitted.Learner(self.network)

    monkeypatch.setattr(submitted.MetaLearner, "meta_fit", deaf)
    found = end(tmp_path / "deaf", data, budget={"seconds": 1e-6})
    assert (found.status, found.reason) == ("budget", reason)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ("meta_fit", "submission 'protos' failed in meta_fit: RuntimeError: cannot meta-train"),
        ("again", "meta_fit asked for more training data than the epoch has"),
        ("nothing saved", "submission 'protos' failed in Learner.save: ValueError: nothing was"),
        ("fit", "submission 'protos' failed in Learner.fit: RuntimeError: cannot fit"),
        ("nan", "submission 'protos': its answers to a task are not numbers"),
        ("too many", "labels from 3 to 5; those of 3 classes are 0 to 2"),
        ("floats", "predict returned float32 [6]; for 6 queries of 3 classes it must return"),
        ("transposed", "predict returned float32 [3, 6]"),
        ("nothing", "predict returned object []"),
    ],
)
def test_what_goes_wrong_in_a_program_ends_its_trial_and_says_so(tmp_path, data, answers, reason):
    found = end(tmp_path, data, options={"answers": answers})
    assert found.status == "failed"
    assert reason in found.reason
    assert not found.retriable


def test_every_form_of_answer_counts_the_same_and_their_order_tells_nothing(data, monkeypatch):
    learner, asked = program(data), only(drawn(data, 2, 20), KEY)
    SubmissionTraining(spec(batches=30), data, learner, CPU).epoch(1, lambda step: None)
    counts, predict = {}, submitted.Predictor.predict
    for answers in ("logits", "probabilities", "labels", "column", "list", "order"):

        def answering(self, given, answers=answers):
            self.answers = answers
            return predict(self, given)

        monkeypatch.setattr(submitted.Predictor, "predict", answering)
        scores = measured(data, asked, learner)[KEY]
        counts[answers] = scores.correct.tolist()
        assert set(scores.queries) == {6}
    order = counts.pop("order")
    assert all(found == counts["logits"] for found in counts.values())
    assert np.mean(counts["logits"]) / 6 > 0.6
    assert abs(np.mean(order) / 6 - 1 / 3) < 0.15


@pytest.mark.parametrize("augment_support", [False, True])
def test_a_program_gets_its_support_augmented_only_where_it_is_to_be(data, augment_support):
    one = spec(
        train={**EPISODES, "augment_support": augment_support},
        augment="crop-jitter-flip",
        batches=3,
    )
    training = SubmissionTraining(one, data, program(data), CPU)
    known = {
        challenge_images(image).tobytes()
        for image in training._images.unit(data.train.examples)[:, None]
    }
    for episode, _ in training._data(1, lambda step: None).meta_train_pipeline:
        support = [image[None].tobytes() in known for image in episode.support_images]
        assert any(support) is not augment_support
        assert all(support) is not augment_support
        assert not any(image[None].tobytes() in known for image in episode.query_images)
