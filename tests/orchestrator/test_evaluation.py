import numpy as np
import pytest
import torch
from made import benchmark

from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator import evaluation
from fsl_sweep.orchestrator.config import Episode, Evaluation
from fsl_sweep.orchestrator.evaluation import CommonTasks, Evaluator

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data():
    return benchmark()


@pytest.fixture(scope="module")
def tasks(data):
    settings = Evaluation(selection_tasks=30, report_tasks=20)
    return CommonTasks.draw(data, Episode(way=3, shot=1, query=2), settings)


def learner(name, data, seed=0):
    made = build_learner({"name": name}, {"name": "conv4", "width": 8}, data.image_shape, 12, seed)
    return made.eval()


def by_brute_force(made, data, measure, episodes):
    """Correct counts by embedding the images of each episode for itself."""
    pool = data.distribution(measure).pool
    mean, std = data.pixel_mean[0], data.pixel_std[0]
    counts = []
    for support, query in zip(episodes.support, episodes.query, strict=True):

        def features(index):
            images = (pool.images[index.ravel()] / np.float32(255) - mean) / std
            return made.embed(torch.tensor(images, dtype=torch.float32)).reshape(*index.shape, -1)

        with torch.no_grad():
            logits = made.head(features(support)[None], features(query).flatten(0, 1)[None])[0]
        expected = np.repeat(np.arange(query.shape[0]), query.shape[1])
        counts.append(int((logits.argmax(1).numpy() == expected).sum()))
    return counts


@pytest.mark.parametrize("name", ["protonet", "ridge", "supervised"])
def test_embedding_once_gives_what_embedding_each_episode_gives(data, tasks, name):
    made = learner(name, data)
    scores = Evaluator(data, tasks, CPU).measure(made)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_brute_force(made, data, key[0], episodes)
        assert set(scores[key].queries) == {6}


def test_small_chunks_give_the_same(data, tasks, monkeypatch):
    made = learner("protonet", data)
    whole = Evaluator(data, tasks, CPU).measure(made)
    monkeypatch.setattr(evaluation, "_FLOATS_AT_ONCE", 1)
    parts = Evaluator(data, tasks, CPU).measure(made)
    for key, scores in whole.items():
        assert scores.correct.tolist() == parts[key].correct.tolist()


def test_measuring_changes_nothing(data, tasks):
    made = learner("protonet", data).train()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    Evaluator(data, tasks, CPU).measure(made)
    assert made.training
    for name, value in made.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_learner_without_an_embedding_is_refused(data, tasks):
    with pytest.raises(TypeError, match="has no embedding"):
        Evaluator(data, tasks, CPU).measure(torch.nn.Linear(2, 2))


def test_the_tasks_are_the_same_for_every_draw_and_differ_between_sets(data, tasks):
    settings = Evaluation(selection_tasks=30, report_tasks=20)
    again = CommonTasks.draw(data, Episode(way=3, shot=1, query=2), settings)
    for key, episodes in tasks.episodes.items():
        np.testing.assert_array_equal(episodes.support, again.episodes[key].support)
    selection, report = tasks.episodes["novel", "selection"], tasks.episodes["novel", "report"]
    assert not np.array_equal(selection.support[:20], report.support)
