"""Submissions with MetaDL's interface as trials."""

import numpy as np
import pytest
import submitted
from evaluated import CPU, built, drawn, main, measured, only, surely_above
from submitted import given, shown, spec
from trained import history, pool_index, run

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.submission import SubmissionTraining

KEY = "base", "report"


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


@pytest.mark.parametrize("mode", ["episode", "batch"])
def test_validation_comes_anew_in_each_pass_and_each_epoch_has_a_seed(data, mode):
    first, again, second = (given(data, spec(mode=mode, batches=5), number) for number in (1, 1, 2))
    assert again.seed == first.seed != second.seed
    assert (first.data.mode, first.data.n_classes) == (mode, 12)
    assert first.data.image_shape == (16, 16, 1)
    passes = [[*shown(first.data.meta_valid_pipeline)] for _ in range(2)]
    for *parts, classes in passes[0] + passes[1]:
        examples = np.concatenate([pool_index(data, part) for part in parts], axis=1)
        assert set(examples.ravel()) <= set(data.train.examples)
        assert len(set(examples.ravel())) == 9
        assert (data.train.classes[classes] == data.train.pool.labels[examples].T).all()
    assert len(passes[0]) == len(passes[1]) == 5
    assert not np.array_equal(passes[0][0][1], passes[1][0][1])


def test_every_form_of_answer_counts_the_same_and_their_order_tells_nothing(data, monkeypatch):
    tasks = only(drawn(data, 2, 20), KEY)
    identity = {"name": "identity"}
    learner = built(data, "metadl", submission="protos", backbone=identity)
    SubmissionTraining(spec(batches=30), data, learner, CPU).epoch(1, lambda step: None)
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
