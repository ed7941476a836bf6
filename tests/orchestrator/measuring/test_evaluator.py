"""Learners of every kind on common tasks, against answers to each task for itself."""

import copy

import numpy as np
import pytest
import torch
from made import benchmark, trainable, writer_benchmark
from trained import CPU, NOVEL, built, counts, drawn, images_by_hand, measured, only

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.at_once import AtOnce, at_once
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.training import Training


@pytest.fixture(scope="module")
def tasks(data):
    return drawn(data, 30, 20)


@pytest.fixture(scope="module")
def writers():
    return writer_benchmark()


def ragged_tasks(writers, way, query):
    return drawn(writers, 4, 3, episode=Episode(way=way, shot=1, query=query))


def adapting(data, name="fomaml", **options):
    return built(data, name, way=3, inner_steps_test=3, inner_lr=0.1, **options)


def by_head(learner, support, query, way):
    """The answers from features of the images of one task."""
    with torch.no_grad():
        examples = learner.embed(support)
        return learner.head(
            examples.view(1, way, -1, examples.shape[1]), learner.embed(query)[None]
        )[0]


def by_descent(learner, support, query, way):
    """The answers after plain SGD on a copy of the network."""
    network = copy.deepcopy(learner).eval()
    sgd = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        labels = torch.arange(way).repeat_interleave(len(support) // way)
        torch.nn.functional.cross_entropy(network(support), labels).backward()
        sgd.step()
    return network(query)


def task_by_task(data, tasks, learner, answer):
    """Correct counts, queries and shapes of tasks that are answered one by one, without padding."""
    correct, queries, shapes = {}, {}, set()
    for key, episodes in tasks.episodes.items():
        pool, correct[key], queries[key] = data.distribution(key[0]).pool, [], []
        for support, query, classes in zip(*vars(episodes).values(), strict=True):
            there = classes >= 0
            each = [part[part >= 0] for part in query[there]]
            target = np.repeat(np.arange(len(each)), [len(part) for part in each])
            parts = support[there].ravel(), np.concatenate(each)
            given = (images_by_hand(data, pool, indices) for indices in parts)
            answers = answer(learner, *given, there.sum()).argmax(1).numpy()
            correct[key].append(int((answers == target).sum()))
            queries[key].append(len(target))
            shapes.add((there.sum(), len(target)))
    return correct, queries, shapes


@pytest.mark.parametrize(
    ("name", "answer", "options"),
    [
        ("ridge", by_head, {}),
        ("supervised", by_head, {}),
        ("fomaml", by_descent, {"batch_norm": "batch"}),
        ("fomaml", by_descent, {"batch_norm": "running"}),
    ],
)
def test_measuring_gives_what_answering_each_task_gives(data, tasks, name, answer, options):
    if answer is by_descent:
        learner, tasks = adapting(data, **options), drawn(data, 4, 3)
    else:
        learner = built(data, name)
    scores = measured(data, tasks, learner)
    correct, queries, _ = task_by_task(data, tasks, learner, answer)
    assert counts(scores) == correct
    assert {key: of.queries.tolist() for key, of in scores.items()} == queries
    assert {count for each in queries.values() for count in each} == {6}


@pytest.mark.parametrize("name", ["protonet", "pt-map", "fomaml"])  # pt-map sees queries together
def test_writers_are_measured_as_each_task_alone(writers, name):
    """Absent classes never win and absent queries never count; or, of a fixed way, any number."""
    if name == "fomaml":
        learner, tasks, answer = adapting(writers), ragged_tasks(writers, 3, "rest"), by_descent
    else:
        learner, tasks, answer = built(writers, name), ragged_tasks(writers, "all", "rest"), by_head
    scores = measured(writers, tasks, learner)
    correct, queries, shapes = task_by_task(writers, tasks, learner, answer)
    assert counts(scores) == correct
    assert {key: of.queries.tolist() for key, of in scores.items()} == queries
    assert len(shapes) > 5
    assert (len({way for way, _ in shapes}) > 1) is (name != "fomaml")


def test_what_a_learner_cannot_answer_is_refused(data, tasks, writers):
    with pytest.raises(ValueError, match="answers 3-way tasks"):
        measured(writers, ragged_tasks(writers, "all", "rest"), adapting(writers))
    with pytest.raises(TypeError, match="A Linear is of no kind"):
        measured(data, tasks, torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("name", "options"),
    [("protonet", None), ("fomaml", {"batch_norm": "batch"}), ("maml", {"batch_norm": "running"})],
)
def test_measuring_changes_nothing(data, name, options):
    tasks = drawn(data, 3, 3)
    learner = built(data, name) if options is None else adapting(data, name, **options)
    learner.train()
    before = {name: value.clone() for name, value in learner.state_dict().items()}
    trained = [p.requires_grad for p in learner.parameters()]
    first = measured(data, tasks, learner)
    assert learner.training
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    for name, value in learner.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(p.grad is None and p.is_leaf for p in learner.parameters())
    assert [p.requires_grad for p in learner.parameters()] == trained
    assert counts(measured(data, tasks, learner)) == counts(first)


def test_the_tasks_are_the_same_for_every_draw_and_differ_between_sets(data, tasks):
    again = drawn(data, 30, 20)
    for key, episodes in tasks.episodes.items():
        np.testing.assert_array_equal(episodes.support, again.episodes[key].support)
    selection, report = tasks.episodes["novel", "selection"], tasks.episodes[NOVEL]
    assert not np.array_equal(selection.support[:20], report.support)


def without(part, at):
    """Index arrays whose examples at a place are absent."""
    part = part.copy()
    part[at] = -1
    return part


@pytest.mark.parametrize("learner", [adapting, lambda data: built(data, "protonet")])
@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (
            lambda s, q, c: (s[:, :1], q[:, :1], c[:, :1]),
            r"support \[20, 1, 1\] and query \[20, 1, 2\]",
        ),
        (lambda s, q, c: (s[:, :, :0], q, c), r"support \[20, 3, 0\]"),
        (lambda s, q, c: (s, q[:, :, :0], c), r"query \[20, 3, 0\]"),
        (lambda s, q, c: (without(s, np.s_[3, 1:]), q, c), "Task 3 lacks a second class"),
        (lambda s, q, c: (s, without(q, 3), c), "Task 3 lacks .* or a query"),
    ],
)
def test_tasks_that_any_or_no_answer_would_fit_are_refused(data, tasks, learner, harm, problem):
    episodes = tasks.episodes[NOVEL]
    parts = harm(episodes.support, episodes.query, episodes.classes)
    with pytest.raises(BadData, match=problem):
        measured(data, only(tasks, NOVEL, Episodes(*parts)), learner(data))


# How much is measured at once changes the time that it takes, and no number.


def test_sizes_follow_from_the_device_and_the_images():
    small, large = at_once(CPU, (3, 32, 32)), at_once(CPU, (3, 84, 84))
    assert (small.images, large.images) == (32, 16)
    assert small.floats == large.floats == 2**20
    assert at_once(CPU, (640, 1, 1)).images == 512  # features
    for shape in [(1, 28, 28), (3, 84, 84)]:
        assert at_once(torch.device("cuda", 1), shape).images == 512
        assert at_once(torch.device("cuda", 1), shape).floats == 2**25


def test_small_chunks_of_adapted_tasks_give_the_same(data, monkeypatch):
    tasks, learner, sizes = drawn(data, 7, 2), adapting(data), []
    together, predict = measured(data, tasks, learner), type(learner).predict

    def counting(self, support, query):
        sizes.append(len(support))
        return predict(self, support, query)

    monkeypatch.setattr(type(learner), "predict", counting)
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(images=32, floats=1, adapted=18))
    assert counts(measured(data, tasks, learner)) == counts(together)
    assert max(sizes) == 2  # of 9 images each


@pytest.fixture(scope="module")
def larger():
    return benchmark(image_size=20)


@pytest.fixture(scope="module")
def trained(larger):
    """Two heads over one network with weights and running averages of some steps of training."""
    learner, ridge = (built(larger, name) for name in ("protonet", "ridge"))
    list(Training(trainable(batches=10), larger, learner, CPU).epoch(1))
    ridge.backbone.load_state_dict(learner.backbone.state_dict())
    return learner, ridge


# Chunks of another size give features that differ in their last bits (another kernel is chosen), so
# that a query halfway between two classes could change sides; none of these does.
@pytest.mark.parametrize("size", [7, 512])
def test_counts_are_the_same_in_chunks_of_any_size(larger, trained, size, monkeypatch):
    tasks = drawn(larger, 50, 30)
    usual = [counts(measured(larger, tasks, learner)) for learner in trained]
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(size, floats=8 * size, adapted=size))
    assert [counts(measured(larger, tasks, learner)) for learner in trained] == usual


def test_an_images_features_depend_on_no_other_image(larger, trained):
    """To the last bit: the last chunk is no smaller than the others."""
    learner = trained[0].eval()
    pool = images.PoolImages(larger.novel.pool, larger, CPU)
    indices = np.random.default_rng(0).permutation(70)
    with torch.inference_mode():
        all_of_them = pool.through(learner.embed, indices)
        assert len(all_of_them) == 70
        for number in (1, 2, 31, 33):
            part = pool.through(learner.embed, indices[-number:])
            assert torch.equal(part, all_of_them[-number:])
