import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from made import benchmark, writer_benchmark
from trained import drawn, measured, only

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.at_once import AtOnce
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.records.protocol import Episode


@pytest.fixture(scope="module")
def data():
    return benchmark()


@pytest.fixture(scope="module")
def tasks(data):
    return drawn(data, 30, 20)


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


@pytest.mark.parametrize("name", ["ridge", "supervised"])
def test_embedding_once_gives_what_embedding_each_episode_gives(data, tasks, name):
    made = learner(name, data)
    scores = measured(data, tasks, made)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_brute_force(made, data, key[0], episodes)
        assert set(scores[key].queries) == {6}


def adapting(name, data, **options):
    options = {"name": name, "way": 3, "inner_steps_test": 3, "inner_lr": 0.1, **options}
    return build_learner(options, {"name": "conv4", "width": 8}, data.image_shape, 12, 0)


def by_explicit_descent(made, data, measure, episodes, target=None):
    """Correct counts by plain SGD on a copy of the network for each task."""
    pool = data.distribution(measure).pool
    mean, std = data.pixel_mean[0], data.pixel_std[0]

    def images(index):
        unit = pool.images[index.ravel()] / np.float32(255)
        return torch.tensor((unit - mean) / std, dtype=torch.float32)

    counts = []
    for support, query in zip(episodes.support, episodes.query, strict=True):
        network = copy.deepcopy(made).eval()
        sgd = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            sgd.zero_grad()
            labels = torch.arange(3).repeat_interleave(support.shape[1])
            torch.nn.functional.cross_entropy(network(images(support)), labels).backward()
            sgd.step()
        expected = np.repeat(np.arange(3), query.shape[1]) if target is None else target
        answers = network(images(query)).argmax(1).numpy()
        counts.append(int((answers == expected).sum()))
    return counts


@pytest.mark.parametrize("batch_norm", ["batch", "running"])
def test_a_learner_that_adapts_is_measured_as_task_by_task(data, batch_norm):
    tasks = drawn(data, 4, 3)
    made = adapting("fomaml", data, batch_norm=batch_norm)
    scores = measured(data, tasks, made)
    for key, episodes in tasks.episodes.items():
        assert scores[key].correct.tolist() == by_explicit_descent(made, data, key[0], episodes)
        assert set(scores[key].queries) == {6}


@pytest.mark.parametrize(
    "made",
    [
        lambda data: learner("protonet", data),
        lambda data: adapting("fomaml", data, batch_norm="batch"),
        lambda data: adapting("maml", data, batch_norm="running"),
    ],
    ids=["protonet", "fomaml", "maml"],
)
def test_measuring_changes_nothing(data, made):
    tasks, made = drawn(data, 3, 3), made(data).train()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    trained = [p.requires_grad for p in made.parameters()]
    first = measured(data, tasks, made)
    assert made.training
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    for name, value in made.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(p.grad is None and p.is_leaf for p in made.parameters())
    assert [p.requires_grad for p in made.parameters()] == trained
    again = measured(data, tasks, made)
    for key, scores in first.items():
        assert scores.correct.tolist() == again[key].correct.tolist()


def test_small_chunks_of_adapted_tasks_give_the_same(data, monkeypatch):
    tasks = drawn(data, 7, 2)
    made = adapting("fomaml", data)
    whole = measured(data, tasks, made)
    given = []
    answer = type(made).predict

    def counting(self, support, query):
        given.append(len(support))
        return answer(self, support, query)

    monkeypatch.setattr(type(made), "predict", counting)
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(images=32, floats=1, adapted=18))
    parts = measured(data, tasks, made)
    assert max(given) == 2  # of 9 images each
    for key, scores in whole.items():
        assert scores.correct.tolist() == parts[key].correct.tolist()


@pytest.fixture(scope="module")
def writers():
    return writer_benchmark()


def ragged_tasks(writers, way, query):
    return drawn(writers, 4, 3, episode=Episode(way=way, shot=1, query=query))


def alone(episodes, task):
    """One task without its padding, and the class of each of its queries."""
    there = episodes.classes[task] >= 0
    queries = [q[q >= 0] for q in episodes.query[task][there]]
    target = np.repeat(np.arange(len(queries)), [len(q) for q in queries])
    return episodes.support[task][there], np.concatenate(queries), target


@pytest.mark.parametrize("name", ["protonet", "pt-map"])  # pt-map sees the queries together
def test_writers_are_measured_as_each_task_alone(writers, name):
    """Absent classes never win and absent queries never count."""
    made, tasks = learner(name, writers), ragged_tasks(writers, "all", "rest")
    scores = measured(writers, tasks, made)
    mean, std = writers.pixel_mean[0], writers.pixel_std[0]
    shapes = set()
    for key, episodes in tasks.episodes.items():
        pool = writers.distribution(key[0]).pool
        for task in range(len(episodes)):
            support, query, target = alone(episodes, task)
            shapes.add((len(support), len(query)))
            unit = [pool.images[index] / np.float32(255) for index in (support.ravel(), query)]
            with torch.no_grad():
                examples, asked = (made.embed(torch.tensor((u - mean) / std).float()) for u in unit)
                answers = made.head(examples.view(1, len(support), 1, -1), asked[None])[0].argmax(1)
            assert scores[key].correct[task] == (answers.numpy() == target).sum()
            assert scores[key].queries[task] == len(query)
    assert len({way for way, _ in shapes}) > 1
    assert len(shapes) > 5


def test_a_learner_that_adapts_is_measured_on_as_many_queries_as_there_are(writers):
    made, tasks = adapting("fomaml", writers), ragged_tasks(writers, 3, "rest")
    scores = measured(writers, tasks, made)
    for key, episodes in tasks.episodes.items():
        for task in range(len(episodes)):
            support, query, target = alone(episodes, task)
            one = SimpleNamespace(support=support[None], query=query[None])
            (count,) = by_explicit_descent(made, writers, key[0], one, target)
            assert scores[key].correct[task] == count
            assert scores[key].queries[task] == len(query)


def test_a_learner_of_one_way_is_not_given_others(writers):
    with pytest.raises(ValueError, match="answers 3-way tasks"):
        measured(writers, ragged_tasks(writers, "all", "rest"), adapting("fomaml", writers))


def test_a_module_that_is_no_learner_is_refused(data, tasks):
    with pytest.raises(TypeError, match="A Linear is of no kind"):
        measured(data, tasks, torch.nn.Linear(2, 2))


def test_the_tasks_are_the_same_for_every_draw_and_differ_between_sets(data, tasks):
    again = drawn(data, 30, 20)
    for key, episodes in tasks.episodes.items():
        np.testing.assert_array_equal(episodes.support, again.episodes[key].support)
    selection, report = tasks.episodes["novel", "selection"], tasks.episodes["novel", "report"]
    assert not np.array_equal(selection.support[:20], report.support)


@pytest.mark.parametrize("name", ["protonet", "fomaml"])
@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ("one class", r"support \[20, 1, 1\] and query \[20, 1, 2\]"),
        ("no example", r"support \[20, 3, 0\]"),
        ("no query", r"query \[20, 3, 0\]"),
        ("one class in a task", "Task 3 lacks a second class"),
        ("no query in a task", "Task 3 lacks .* or a query"),
    ],
)
def test_tasks_that_any_or_no_answer_would_fit_are_refused(data, tasks, name, harm, problem):
    episodes = tasks.episodes["novel", "report"]
    support, query, classes = episodes.support, episodes.query, episodes.classes
    if harm == "one class":
        support, query, classes = support[:, :1], query[:, :1], classes[:, :1]
    if harm == "no example":
        support = support[:, :, :0]
    if harm == "no query":
        query = query[:, :, :0]
    if harm == "one class in a task":
        support = support.copy()
        support[3, 1:] = -1
    if harm == "no query in a task":
        query = query.copy()
        query[3] = -1
    made = adapting(name, data) if name == "fomaml" else learner(name, data)
    broken = only(tasks, ("novel", "report"), Episodes(support, query, classes))
    with pytest.raises(BadData, match=problem):
        measured(data, broken, made)
