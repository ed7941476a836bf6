"""The classifier: trained and measured on examples of the base classes only."""

import numpy as np
import pytest
import torch
from made import benchmark, trainable
from trained import (
    NOVEL,
    built,
    counts,
    drawn,
    history,
    images_by_hand,
    main,
    measured,
    only,
    run,
    surely_above,
)

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.at_once import AtOnce
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.records.protocol import Episode


@pytest.fixture(scope="module")
def new_classes():
    return benchmark(examples=40)


@pytest.fixture(scope="module")
def base_classes(new_classes):
    return in_distribution(new_classes, seed=0)


@pytest.fixture(scope="module")
def tasks(base_classes):
    return drawn(base_classes, 30, 20)


@pytest.fixture(scope="module")
def gaps(new_classes):
    """Base classes whose pool labels do not begin at 0, and have gaps."""
    pool, chosen = new_classes.train.pool, np.array([3, 7, 8, 20])
    index = np.flatnonzero(np.isin(pool.labels, chosen))
    parts = {"train": index[::2]} | dict.fromkeys(("base", "val", "novel"), index[1::2])
    return Benchmark.of("gaps", **{k: ClassTasks(pool, chosen, v) for k, v in parts.items()})


def by_brute_force(learner, data, episodes):
    """Correct counts by classifying each task's queries for itself."""
    pool, correct = data.train.pool, []
    for query in episodes.query:
        query = query[query >= 0]
        with torch.no_grad():
            answers = learner.classify(images_by_hand(data, pool, query)).argmax(1).numpy()
        correct.append(int((data.train.classes[answers] == pool.labels[query]).sum()))
    return correct


@pytest.mark.parametrize("name", ["base_classes", "gaps"])
def test_queries_are_answered_among_all_base_classes(request, name):
    """Labels are matched by class, not by number."""
    data = request.getfixturevalue(name)
    learner, tasks = built(data, "classifier", len(data.train.classes)), drawn(data, 30, 20)
    scores = measured(data, tasks, learner)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_brute_force(learner, data, episodes)
        assert set(scores[key].queries) == {6}


def test_small_parts_give_the_same_and_nothing_changes(base_classes, tasks, monkeypatch):
    learner = built(base_classes, "classifier").train()
    before = {name: value.clone() for name, value in learner.state_dict().items()}
    together = counts(measured(base_classes, tasks, learner))
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(images=5, floats=1, adapted=1))
    assert counts(measured(base_classes, tasks, learner)) == together
    assert learner.training
    assert all(torch.equal(value, before[name]) for name, value in learner.state_dict().items())


def test_padded_places_are_not_asked(base_classes, tasks):
    learner, episodes = built(base_classes, "classifier"), tasks.episodes[NOVEL]
    query = episodes.query.copy()
    query[:, 0, 1] = -1
    query[0, 2] = -1
    ragged = Episodes(episodes.support, query, episodes.classes)
    scores = measured(base_classes, only(tasks, NOVEL, ragged), learner)[NOVEL]
    assert scores.queries.tolist() == [3] + [5] * 19
    assert scores.correct.tolist() == by_brute_force(learner, base_classes, ragged)


def test_new_classes_and_answers_that_are_not_numbers_are_refused(new_classes, base_classes, tasks):
    learner = built(base_classes, "classifier")
    with pytest.raises(BadData, match=r"'class 12' was not trained on.*in-distribution benchmark"):
        measured(new_classes, drawn(new_classes, 3, 3), learner)
    with torch.no_grad():
        learner.classifier.bias[0] = torch.nan
    with pytest.raises(TrialFailure, match=r"the learner's answers to \d+ of \d+ images"):
        measured(base_classes, tasks, learner)


def test_the_classifier_learns_the_embedded_benchmark(tmp_path):
    options = {"base_alphabets": 2, "val_alphabets": 1, "novel_alphabets": 1, "examples": 60}
    easy = {"classes_per_alphabet": 5, "image_size": 16}
    glyphs = open_benchmark("in-distribution:glyphs", {**options, **easy}, None, tmp_path / "home")
    learner, train = {"name": "classifier"}, {"batch_size": 32}
    spec = trainable(learner=learner, train=train, epochs=1, batches=100)
    protocol = main(glyphs, 60, 60, episode=Episode(way=5, shot=1, query=5))
    storage = run(tmp_path / "run", spec, glyphs, protocol=protocol)
    assert history(storage, spec, glyphs, protocol).complete
    novel = storage.read_epoch(1, protocol.id).scores[NOVEL]
    assert surely_above(novel, 0.1 + 0.3)  # chance is one in the ten base classes
