"""Learners of every kind on common tasks, against answers to each task for itself."""

import copy

import numpy as np
import pytest
import torch
from made import benchmark, trainable, writer_benchmark
from trained import (
    CPU,
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
from fsl_sweep.learners.at_once import AtOnce, at_once
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
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


def without(part, at):
    """Index arrays whose examples at a place are absent."""
    part = part.copy()
    part[at] = -1
    return part


def by_head(data, learner, support, query, way):
    """The classes that features of the images of one task give."""
    with torch.no_grad():
        examples = learner.embed(support)
        examples = examples.view(1, way, -1, examples.shape[1])
        return learner.head(examples, learner.embed(query)[None])[0].argmax(1)


def by_descent(data, learner, support, query, way):
    """Those after plain SGD on a copy of the network."""
    network = copy.deepcopy(learner).eval()
    sgd = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        labels = torch.arange(way).repeat_interleave(len(support) // way)
        torch.nn.functional.cross_entropy(network(support), labels).backward()
        sgd.step()
    return network(query).argmax(1)


def by_class(data, learner, support, query, way):
    """Those among all base classes, by the pool's labels."""
    with torch.no_grad():
        return data.train.classes[learner.classify(query).argmax(1)]


def check(data, tasks, learner, answer):
    """Each task counts what it does by itself, without padding; gives its way and queries."""
    scores, shapes = measured(data, tasks, learner), set()
    for key, episodes in tasks.episodes.items():
        pool, of = data.distribution(key[0]).pool, scores[key]
        for task, support in enumerate(episodes.support):
            there = episodes.classes[task] >= 0
            each = [part[part >= 0] for part in episodes.query[task][there]]
            queries, support = np.concatenate(each), support[there].ravel()
            target = np.repeat(np.arange(len(each)), [len(part) for part in each])
            parts = (images_by_hand(data, pool, indices) for indices in (support, queries))
            answers = np.asarray(answer(data, learner, *parts, len(each)))
            right = answers == (pool.labels[queries] if answer is by_class else target)
            assert (of.correct[task], of.queries[task]) == (right.sum(), len(queries))
            shapes.add((len(each), len(queries)))
    return shapes


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
    assert check(data, tasks, learner, answer) == {(3, 6)}


@pytest.mark.parametrize("name", ["protonet", "pt-map", "fomaml"])  # pt-map sees queries together
def test_writers_are_measured_as_each_task_alone(writers, name):
    """Absent classes never win and absent queries never count; or, of a fixed way, any number."""
    if name == "fomaml":
        learner, tasks, answer = adapting(writers), ragged_tasks(writers, 3, "rest"), by_descent
    else:
        learner, tasks, answer = built(writers, name), ragged_tasks(writers, "all", "rest"), by_head
    shapes = check(writers, tasks, learner, answer)
    assert len(shapes) > 5
    assert (len({way for way, _ in shapes}) > 1) is (name != "fomaml")


@pytest.fixture(scope="module")
def new_classes():
    return benchmark(examples=40)


@pytest.fixture(scope="module")
def base_classes(new_classes):
    return in_distribution(new_classes, seed=0)


@pytest.fixture(scope="module")
def gaps(new_classes):
    """Base classes whose pool labels do not begin at 0, and have gaps."""
    pool, chosen = new_classes.train.pool, np.array([3, 7, 8, 20])
    index = np.flatnonzero(np.isin(pool.labels, chosen))
    parts = {"train": index[::2]} | dict.fromkeys(("base", "val", "novel"), index[1::2])
    return Benchmark.of("gaps", **{k: ClassTasks(pool, chosen, v) for k, v in parts.items()})


@pytest.mark.parametrize("name", ["base_classes", "gaps"])
def test_a_classifier_answers_among_all_base_classes(request, name):
    """Labels are matched by class, not by number; padded places are not asked."""
    data = request.getfixturevalue(name)
    learner, tasks = built(data, "classifier", len(data.train.classes)), drawn(data, 30, 20)
    assert check(data, tasks, learner, by_class) == {(3, 6)}
    episodes = tasks.episodes[NOVEL]
    query = without(without(episodes.query, np.s_[:, 0, 1]), np.s_[0, 2])
    ragged = only(tasks, NOVEL, Episodes(episodes.support, query, episodes.classes))
    assert check(data, ragged, learner, by_class) == {(3, 3), (3, 5)}


def test_new_classes_and_answers_that_are_not_numbers_are_refused(new_classes, base_classes):
    learner = built(base_classes, "classifier")
    with pytest.raises(BadData, match=r"'class 12' was not trained on.*in-distribution benchmark"):
        measured(new_classes, drawn(new_classes, 3, 3), learner)
    with torch.no_grad():
        learner.classifier.bias[0] = torch.nan
    with pytest.raises(TrialFailure, match=r"the learner's answers to \d+ of \d+ images"):
        measured(base_classes, drawn(base_classes, 3, 3), learner)


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


def test_what_a_learner_cannot_answer_is_refused(data, tasks, writers):
    with pytest.raises(ValueError, match="answers 3-way tasks"):
        measured(writers, ragged_tasks(writers, "all", "rest"), adapting(writers))
    with pytest.raises(TypeError, match="A Linear is of no kind"):
        measured(data, tasks, torch.nn.Linear(2, 2))


@pytest.mark.parametrize("name", ["protonet", "classifier", "fomaml", "maml"])
def test_measuring_changes_nothing(data, base_classes, name):
    if name == "classifier":
        data, learner = base_classes, built(base_classes, name)
    elif name == "protonet":
        learner = built(data, name)
    else:
        learner = adapting(data, name, batch_norm="batch" if name == "fomaml" else "running")
    tasks, before = drawn(data, 3, 3), copy.deepcopy(learner.train().state_dict())
    trained = [p.requires_grad for p in learner.parameters()]
    first = measured(data, tasks, learner)
    assert learner.training
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert all(torch.equal(value, before[name]) for name, value in learner.state_dict().items())
    assert all(p.grad is None and p.is_leaf for p in learner.parameters())
    assert [p.requires_grad for p in learner.parameters()] == trained
    assert counts(measured(data, tasks, learner)) == counts(first)


def test_the_tasks_are_the_same_for_every_draw_and_differ_between_sets(data, tasks):
    again = drawn(data, 30, 20)
    for key, episodes in tasks.episodes.items():
        np.testing.assert_array_equal(episodes.support, again.episodes[key].support)
    selection, report = tasks.episodes["novel", "selection"], tasks.episodes[NOVEL]
    assert not np.array_equal(selection.support[:20], report.support)


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
def test_counts_are_the_same_in_chunks_of_any_size(
    larger, trained, base_classes, size, monkeypatch
):
    classifier = base_classes, drawn(base_classes, 30, 20), built(base_classes, "classifier")
    each = [*((larger, drawn(larger, 50, 30), learner) for learner in trained), classifier]
    usual = [counts(measured(*of)) for of in each]
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(size, floats=8 * size, adapted=size))
    assert [counts(measured(*of)) for of in each] == usual


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
