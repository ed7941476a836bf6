"""Learners of every kind on common tasks, against answers to each task for itself."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from evaluated import CPU, NOVEL, built, counts, drawn, images_by_hand, measured, only
from made import benchmark, trainable, writer_benchmark

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.at_once import AtOnce
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.trial.training import Training


@pytest.fixture(scope="module")
def benchmarks(data):
    """Images of new classes, of base classes, of such that have gaps among labels, of writers."""
    more = benchmark(examples=40)
    pool, chosen = more.train.pool, np.array([3, 7, 8, 20])
    index = np.flatnonzero(np.isin(pool.labels, chosen))
    parts = {"train": index[::2]} | dict.fromkeys(("base", "val", "novel"), index[1::2])
    gaps = Benchmark.of("gaps", **{k: ClassTasks(pool, chosen, v) for k, v in parts.items()})
    base = in_distribution(more, seed=0)
    return {"new": data, "base": base, "gaps": gaps, "writers": writer_benchmark()}


def ragged(writers, way):
    return drawn(writers, 4, 3, episode=Episode(way=way, shot=1, query="rest"))


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
    ("where", "name", "answer"),
    [
        ("new", "ridge", by_head),
        ("new", "supervised", by_head),
        *(("new", batch_norm, by_descent) for batch_norm in ("batch", "running")),
        ("writers", "protonet", by_head),
        ("writers", "pt-map", by_head),  # it sees the queries together
        ("writers", "batch", by_descent),
        ("base", "classifier", by_class),
        ("gaps", "classifier", by_class),
    ],
)
def test_measuring_gives_what_answering_each_task_gives(benchmarks, where, name, answer):
    """Of writers absent classes never win and absent queries never count."""
    data, descends = benchmarks[where], answer is by_descent
    if descends:
        learner = adapting(data, batch_norm=name)
    else:
        learner = built(data, name, len(data.train.classes) if answer is by_class else 12)
    if where == "writers":
        shapes = check(data, ragged(data, 3 if descends else "all"), learner, answer)
        assert len(shapes) > 5
        assert (len({way for way, _ in shapes}) > 1) is not descends
        return
    tasks = drawn(data, *((4, 3) if descends else (30, 20)))
    assert check(data, tasks, learner, answer) == {(3, 6)}
    if answer is by_class:  # padded places are not asked
        query = without(without(tasks.episodes[NOVEL].query, np.s_[:, 0, 1]), np.s_[0, 2])
        padded = only(tasks, NOVEL, replace(tasks.episodes[NOVEL], query=query))
        assert check(data, padded, learner, answer) == {(3, 3), (3, 5)}


def test_what_a_learner_cannot_answer_is_refused(benchmarks):
    data, base, _, writers = benchmarks.values()
    with pytest.raises(ValueError, match=r"answers 3-way tasks; these are [45]-way"):
        measured(writers, ragged(writers, "all"), adapting(writers))
    tasks = drawn(data, 2, 20)
    episodes = tasks.episodes[NOVEL]
    alone = Episodes(*(part[:, :1] for part in vars(episodes).values()))
    with pytest.raises(BadData, match="needs at least 2 classes; 20 of 20 have fewer"):
        measured(data, only(tasks, NOVEL, alone), built(data, "protonet"))
    with pytest.raises(TypeError, match="A Linear is of no kind"):
        measured(data, drawn(data, 3, 3), torch.nn.Linear(2, 2))
    learner = built(base, "classifier")
    with pytest.raises(BadData, match=r"'class 12' was not trained on.*in-distribution benchmark"):
        measured(data, drawn(data, 3, 3), learner)
    with torch.no_grad():
        learner.classifier.bias[0] = torch.nan
    with pytest.raises(TrialFailure, match=r"the learner's answers to \d+ of \d+ images"):
        measured(base, drawn(base, 3, 3), learner)


@pytest.mark.parametrize("name", ["protonet", "classifier", "fomaml", "maml"])
def test_measuring_changes_nothing(benchmarks, name):
    data = benchmarks["base" if name == "classifier" else "new"]
    if name in ("protonet", "classifier"):
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
def test_counts_are_the_same_in_chunks_of_any_size(larger, trained, benchmarks, size, monkeypatch):
    base = benchmarks["base"]
    classifier = base, drawn(base, 30, 20), built(base, "classifier")
    adapts = larger, drawn(larger, 7, 2), adapting(larger)
    each = [*((larger, drawn(larger, 50, 30), learner) for learner in trained), classifier, adapts]
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
