"""The classifier: trained and measured on examples of the base classes only."""

import numpy as np
import pytest
import torch
from made import benchmark, trainable
from trained import drawn, history, main, measured, only, run

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.at_once import AtOnce
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.trial import use_threads


@pytest.fixture(scope="module")
def data():
    use_threads(1)
    return in_distribution(benchmark(examples=40), seed=0)


@pytest.fixture(scope="module")
def tasks(data):
    return drawn(data, 30, 20)


def classifier(data, classes=12):
    network = {"name": "conv4", "width": 8}
    return build_learner({"name": "classifier"}, network, data.image_shape, classes, 0).eval()


def by_brute_force(made, data, episodes):
    """Correct counts by classifying each task's queries for itself."""
    pool, counts = data.train.pool, []
    for query in episodes.query:
        unit = pool.images[query.ravel()] / np.float32(255)
        images = torch.tensor((unit - data.pixel_mean[0]) / data.pixel_std[0], dtype=torch.float32)
        with torch.no_grad():
            answers = made.classify(images).argmax(1).numpy()
        counts.append(int((data.train.classes[answers] == pool.labels[query.ravel()]).sum()))
    return counts


def test_queries_are_answered_among_all_base_classes(data, tasks):
    made = classifier(data)
    scores = measured(data, tasks, made)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_brute_force(made, data, episodes)
        assert set(scores[key].queries) == {6}


def test_labels_are_matched_by_class_not_by_number():
    """Base classes whose pool labels do not begin at 0, and have gaps."""
    made = benchmark(examples=40)
    pool = made.train.pool
    chosen = np.array([3, 7, 8, 20])
    index = np.flatnonzero(np.isin(pool.labels, chosen))
    parts = {"train": index[::2], "base": index[1::2], "val": index[1::2], "novel": index[1::2]}
    gaps = Benchmark.of("gaps", **{k: ClassTasks(pool, chosen, v) for k, v in parts.items()})
    tasks = drawn(gaps, 10, 10)
    learner = classifier(gaps, classes=4)
    scores = measured(gaps, tasks, learner)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_brute_force(learner, gaps, episodes)


def test_small_parts_give_the_same_and_nothing_changes(data, tasks, monkeypatch):
    made = classifier(data).train()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    whole = measured(data, tasks, made)
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(images=5, floats=1, adapted=1))
    parts = measured(data, tasks, made)
    assert made.training
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
    for key, scores in whole.items():
        assert scores.correct.tolist() == parts[key].correct.tolist()


def test_padded_places_are_not_asked(data, tasks):
    made = classifier(data)
    episodes = tasks.episodes["novel", "report"]
    query = episodes.query.copy()
    query[:, 0, 1] = -1
    query[0, 2] = -1
    key = "novel", "report"
    ragged = only(tasks, key, Episodes(episodes.support, query, episodes.classes))
    scores = measured(data, ragged, made)[key]
    assert scores.queries.tolist() == [3] + [5] * 19
    for task, correct in enumerate(scores.correct):
        real = Episodes(
            episodes.support[task : task + 1, :1],
            query[task][query[task] >= 0][None, None],
            episodes.classes[task : task + 1, :1],
        )
        assert by_brute_force(made, data, real) == [correct]


def test_new_classes_are_refused():
    made = benchmark(examples=40)
    with pytest.raises(BadData, match=r"'class 12' was not trained on.*in-distribution benchmark"):
        measured(made, drawn(made, 3, 3), classifier(made))


def test_answers_that_are_not_numbers_are_no_guesses(data, tasks):
    made = classifier(data)
    with torch.no_grad():
        made.classifier.bias[0] = torch.nan
    with pytest.raises(TrialFailure, match=r"the learner's answers to \d+ of \d+ images"):
        measured(data, tasks, made)


def test_the_classifier_learns_the_embedded_benchmark(tmp_path):
    use_threads(1)
    options = {"base_alphabets": 2, "val_alphabets": 1, "novel_alphabets": 1, "examples": 60}
    easy = {"classes_per_alphabet": 5, "image_size": 16}
    glyphs = open_benchmark("in-distribution:glyphs", {**options, **easy}, None, tmp_path / "home")
    spec = trainable(
        learner={"name": "classifier"},
        train={"batch_size": 32},
        epochs=1,
        batches=100,
    )
    protocol = main(glyphs, 60, 60, episode=Episode(way=5, shot=1, query=5))
    storage = run(tmp_path / "whole", spec, glyphs, protocol=protocol)
    assert history(storage, spec, glyphs, protocol).complete
    novel = storage.read_epoch(1, protocol.id).scores["novel", "report"]
    standard_error = novel.accuracy.std(ddof=1) / np.sqrt(60)
    assert novel.mean - 2 * standard_error > 0.1 + 0.3  # chance is one in the ten base classes
