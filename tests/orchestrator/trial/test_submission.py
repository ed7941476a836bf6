"""Submissions with MetaDL's interface as trials."""

import numpy as np
import pytest
import submitted
import torch
from made import trainable
from submitted import spec
from trained import CPU, EPISODES, built, drawn, history, main, measured, only, run, surely_above

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.learners.metadl.meta_dataset import challenge_images
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.submission import SubmissionTraining

KEY = "base", "report"
AUGMENTED = "crop-jitter-flip"


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


@pytest.mark.parametrize("mode", ["episode", "batch"])
def test_a_submission_learns_the_embedded_benchmark(tmp_path, mode):
    options = {"base_alphabets": 2, "val_alphabets": 2, "novel_alphabets": 3, "examples": 20}
    easy = {"classes_per_alphabet": 6, "image_size": 16, "wobble": 0.06, "drift": 0.05}
    glyphs = open_benchmark("glyphs", {**options, **easy}, None, tmp_path / "home")
    trial = spec(mode=mode, epochs=1, batches=60)
    protocol = main(glyphs, 2, 60, episode=Episode(way=3, shot=1, query=3))
    storage = run(tmp_path / "run", trial, glyphs, protocol=protocol)
    assert history(storage, trial, glyphs, protocol).complete
    record = storage.read_epoch(1, protocol.id)
    assert surely_above(record.scores["novel", "report"], 1 / 3 + 0.1)
    assert np.isnan([record.train_loss, record.learning_rate]).all()  # they are not known


class Recorder:
    """A submission that keeps what it is given."""

    def meta_train(self, meta_dataset, seed):
        self.data, self.seed = meta_dataset, seed
        self.items = list(meta_dataset.meta_train_pipeline)


def epoch_of(data, trial, learner, number=1):
    """What trains a submission for an epoch."""
    SubmissionTraining(trial, data, learner, CPU).epoch(number, lambda step: None)
    return learner


def pool_index(data, images):
    """Pool indices of images as a submission has them."""
    raw = ((images + 1) / 2 * 255).round().astype(np.uint8).transpose(0, 3, 1, 2)
    known = {image.tobytes(): i for i, image in enumerate(data.train.pool.images)}
    return np.array([known[image.tobytes()] for image in raw])


def check_episodes(episodes, data):
    """Each has the challenge's six places: 3 classes, of training examples, none of them twice."""
    for episode, source in episodes:
        assert source == 0
        assert episode.support_images.shape == (3, 16, 16, 1)
        assert episode.support_images.dtype == np.float32
        assert episode.query_images.shape == (3 * 2, 16, 16, 1)
        seen = []
        for images, labels, classes in (episode[:3], episode[3:]):
            index = pool_index(data, images)
            assert set(index) <= set(data.train.examples)
            assert (data.train.classes[classes] == data.train.pool.labels[index]).all()
            assert set(labels) == {0, 1, 2}
            assert len(set(zip(labels, classes, strict=True))) == 3
            seen += index.tolist()
        assert len(set(seen)) == len(seen)


def test_episodes_come_anew_in_each_epoch_with_another_seed(data):
    first, again, second = (
        epoch_of(data, spec(batches=5), Recorder(), number) for number in (1, 1, 2)
    )
    assert len(first.items) == 5 * 2
    check_episodes(first.items, data)
    assert (first.data.mode, first.data.n_classes) == ("episode", 12)
    assert first.data.image_shape == (16, 16, 1)
    images = [learner.items[0][0].support_images for learner in (first, again, second)]
    assert np.array_equal(images[0], images[1])
    assert not np.array_equal(images[0], images[2])
    assert again.seed == first.seed != second.seed


def test_batches_have_labels_of_all_base_classes_and_validation_comes_anew_in_each_pass(data):
    learner = epoch_of(data, spec(mode="batch", batches=20), Recorder())
    assert len(learner.items) == 20
    for (images, labels), _ in learner.items:
        assert images.shape == (8, 16, 16, 1)
        index = pool_index(data, images)
        assert (data.train.classes[labels] == data.train.pool.labels[index]).all()
    assert learner.data.mode == "batch"
    first, second = (list(learner.data.meta_valid_pipeline) for _ in range(2))
    assert len(first) == len(second) == 20
    check_episodes(first + second, data)
    assert not np.array_equal(first[0][0].query_images, second[0][0].query_images)


def test_a_fixed_support_set_holds_for_a_submission_too(data):
    fixed = trainable(train={**EPISODES, "fixed_support": True}).train
    learner = epoch_of(data, spec(batches=40).model_copy(update={"train": fixed}), Recorder())
    images = np.concatenate([episode.support_images for episode, _ in learner.items])
    assert len(set(pool_index(data, images))) == 12


@pytest.mark.parametrize("augment_support", [False, True])
def test_a_submission_gets_its_support_augmented_only_where_it_is_to_be(data, augment_support):
    train = {**EPISODES, "augment_support": augment_support}
    learner = epoch_of(data, spec(train=train, augment=AUGMENTED, batches=3), Recorder())
    plain = data.train.pool.images[data.train.examples, None] / np.float32(255)
    known = {challenge_images(torch.from_numpy(image)).tobytes() for image in plain}
    for episode, _ in learner.items:
        support = [image[None].tobytes() in known for image in episode.support_images]
        assert any(support) is not augment_support
        assert all(support) is not augment_support
        assert not any(image[None].tobytes() in known for image in episode.query_images)


def test_every_form_of_answer_counts_the_same_and_their_order_tells_nothing(data, monkeypatch):
    tasks = only(drawn(data, 2, 20), KEY)
    identity = {"name": "identity"}
    learner = built(data, "metadl", submission="protos", backbone=identity)
    epoch_of(data, spec(batches=30), learner)
    correct, predict = {}, submitted.Predictor.predict
    for answers in ("logits", "probabilities", "labels", "column", "list", "order"):

        def answering(self, images, answers=answers):
            self.answers = answers
            return predict(self, images)

        monkeypatch.setattr(submitted.Predictor, "predict", answering)
        scores = measured(data, tasks, learner)[KEY]
        correct[answers] = scores.correct.tolist()
        assert set(scores.queries) == {6}
    order = correct.pop("order")
    assert all(other == correct["logits"] for other in correct.values())
    assert np.mean(correct["logits"]) / 6 > 0.6
    assert abs(np.mean(order) / 6 - 1 / 3) < 0.15
