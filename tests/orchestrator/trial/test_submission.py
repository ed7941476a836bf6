"""Submissions with MetaDL's interface as trials."""

import numpy as np
import pytest
import submitted
from evaluated import CPU, built, drawn, measured, only
from submitted import given, shown, spec
from trained import pool_index

from fsl_sweep.orchestrator.trial.submission import SubmissionTraining

KEY = "base", "report"


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


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
    for answers in ("logits", "labels", "order"):

        def answering(self, images, answers=answers):
            self.answers = answers
            return predict(self, images)

        monkeypatch.setattr(submitted.Predictor, "predict", answering)
        scores = measured(data, tasks, learner)[KEY]
        correct[answers] = scores.correct.tolist()
        assert set(scores.queries) == {6}
    assert correct["logits"] == correct["labels"]
    assert np.mean(correct["logits"]) / 6 > 0.6
    assert abs(np.mean(correct["order"]) / 6 - 1 / 3) < 0.15
