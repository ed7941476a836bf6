"""The tasks of a protocol: mixtures, class lists, other benchmarks, without replacement."""

import numpy as np
import pytest
import torch
from evaluated import CPU, NOVEL, built
from made import benchmark, writer_benchmark
from pools import pool_of

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import Episode, Protocol, Tasks

EPISODE = Episode(way=3, shot=1, query=2)
SPLITS = ("train", *MEASURES)


def drawn(data, tasks=40, other=None, **changes):
    settings = Tasks(selection_tasks=tasks, report_tasks=tasks, **changes.pop("settings", {}))
    protocol = Protocol(**{"episode": EPISODE, "tasks": settings, **changes})
    return CommonTasks.draw(data, protocol, other)


def used(episodes):
    """Every index of an example that the tasks use, once for each time."""
    both = np.concatenate([episodes.support.ravel(), episodes.query.ravel()])
    return both[both >= 0]


def same(episodes, others):
    pairs = zip(vars(episodes).values(), vars(others).values(), strict=True)
    return all(np.array_equal(part, other) for part, other in pairs)


@pytest.mark.parametrize(
    ("changes", "measure"),
    [
        ({"mixture": 0.5}, "novel"),
        ({"classes": ("class 1", "class 5", "class 20")}, "novel"),
        ({"settings": {"base_query": 1}}, "base"),
    ],
    ids=["mixture", "classes", "queries of BaseGen"],
)
def test_the_tasks_of_other_measures_are_those_of_the_main_protocol(data, changes, measure):
    main, again, other = drawn(data), drawn(data), drawn(data, **changes)
    assert not same(main.episodes["novel", "selection"], main.episodes[NOVEL])
    for key, episodes in main.episodes.items():
        assert same(episodes, again.episodes[key])
        assert same(episodes, other.episodes[key]) == (key[0] != measure)
        assert (main.draws[key] == other.draws[key]) == (key[0] != measure)
        queries = 1 if key[0] == measure == "base" else 2
        assert other.episodes[key].query.shape[2] == queries


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_mixture_draws_held_out_base_and_novel_examples_as_it_says(data, weight):
    episodes = drawn(data, 3000, mixture=weight).episodes[NOVEL]
    held_out, novel = set(data.base.examples), set(data.novel.examples)
    assert set(used(episodes)) == (held_out if weight < 1 else set()) | (novel if weight else set())
    of_novel = np.isin(episodes.classes, data.novel.classes).mean()
    assert of_novel == pytest.approx(weight, abs=0.03)


def test_a_list_of_classes_takes_every_example_that_was_not_trained_on(data):
    names = ("class 20", "class 0", "class 13", "class 7")
    episodes = drawn(data, 2000, classes=names).episodes[NOVEL]
    assert set(np.unique(episodes.classes)) == {0, 7, 13, 20}
    of_them = np.flatnonzero(np.isin(data.novel.pool.labels, [0, 7, 13, 20]))
    expected = set(of_them) - set(data.train.examples)
    assert len(expected) == 3 + 3 + 12 + 12  # of the base classes the held-out examples
    assert set(used(episodes)) == expected
    assert same(episodes, drawn(data, 2000, classes=names).episodes[NOVEL])


ALPHABETS = {"base_alphabets": 2, "val_alphabets": 1, "novel_alphabets": 1}


def glyphs(place, **options):
    small = {**ALPHABETS, "classes_per_alphabet": 4, "examples": 12}
    return open_benchmark("glyphs", {**small, **options}, None, place)


def rgb(data):
    """The same images in three unequal channels."""
    shades = np.array([1.0, 0.5, 0.25]).reshape(1, 3, 1, 1)
    images = (data.novel.pool.images * shades).astype(np.uint8)
    pool = pool_of(images, data.novel.pool.labels, data.novel.pool.class_names)
    parts = {split: data.distribution(split) for split in SPLITS}
    coloured = {s: ClassTasks(pool, of.classes, of.examples) for s, of in parts.items()}
    return Benchmark.of("colours", **coloured)


@pytest.mark.parametrize(("trained", "other"), [("grey", "grey"), ("grey", "rgb"), ("rgb", "grey")])
def test_another_benchmarks_novel_classes_are_fitted_to_what_was_trained_on(
    tmp_path, trained, other
):
    ours, theirs = (
        rgb(images) if colours == "rgb" else images
        for colours, images in (
            (trained, glyphs(tmp_path, image_size=16)),
            (other, glyphs(tmp_path, image_size=24, seed=1)),
        )
    )
    named = Named(name="glyphs", image_size=24, seed=1)
    tasks = drawn(ours, other=theirs, benchmark=named)
    episodes = tasks.episodes[NOVEL]
    assert tasks.pools["novel"] is theirs.novel.pool
    assert set(np.unique(episodes.classes)) <= set(theirs.novel.classes)
    assert set(used(episodes)) <= set(theirs.novel.examples)
    assert same(tasks.episodes["base", "report"], drawn(ours).episodes["base", "report"])
    # The images that a learner sees: grey is the mean of the channels, resized, normalised by the
    # statistics of the trained benchmark.
    indices = episodes.query[:4].ravel()
    seen = PoolImages(theirs.novel.pool, ours, CPU)
    unit = torch.from_numpy(theirs.novel.pool.images[indices] / np.float32(255))
    if other != trained:
        unit = unit.mean(1, keepdim=True).expand(-1, len(ours.pixel_mean), -1, -1)
    fitted = torch.nn.functional.interpolate(unit, (16, 16), mode="bilinear", antialias=True)
    torch.testing.assert_close(seen.unit(indices), fitted)
    mean, std = (torch.tensor(x).view(1, -1, 1, 1) for x in (ours.pixel_mean, ours.pixel_std))
    torch.testing.assert_close(seen.normalised(fitted), ((fitted - mean) / std).float())
    learner = built(ours, "protonet", 8, {"name": "conv4", "width": 4})
    scores = Evaluator(ours, {"other": tasks}, CPU).measure(learner)["other"]
    right, correct = torch.arange(3).repeat_interleave(2), []
    with torch.no_grad():
        for parts in zip(episodes.support, episodes.query, strict=True):
            support, query = (learner.embed(seen.normalised(seen.unit(p.ravel()))) for p in parts)
            logits = learner.head(support.view(1, 3, 1, -1), query[None])[0]
            correct.append(int((logits.argmax(1) == right).sum()))
    assert scores[NOVEL].correct.tolist() == correct


def test_without_replacement_no_example_is_twice_in_a_set_and_they_are_used_up(data):
    tasks = drawn(data, 1000, settings={"replacement": False})
    for (measure, _), episodes in tasks.episodes.items():
        everyone, distribution = used(episodes), data.distribution(measure)
        assert len(set(everyone)) == len(everyone)
        assert set(everyone) <= set(distribution.examples)
        uses = np.bincount(data.train.pool.labels[everyone], minlength=24)[distribution.classes]
        assert np.sum(distribution.counts - uses >= 3) < 3  # no further task could be drawn
    few = drawn(data, 3, settings={"replacement": False})
    assert {len(episodes) for episodes in few.episodes.values()} == {3}
    assert not same(few.episodes["val", "report"], few.episodes["val", "selection"])


ONCE = {"settings": {"replacement": False}}


@pytest.mark.parametrize(
    ("made", "changes", "problem"),
    [
        (benchmark, {"classes": ("clas 2",)}, "no class 'clas 2'; did you mean 'class 2'"),
        (writer_benchmark, {"mixture": 0.5}, "a mixture is of tasks of classes.* of writers"),
        (writer_benchmark, {"classes": ("character 1",)}, "cannot be listed .* of writers"),
        (writer_benchmark, ONCE, "cannot be drawn without"),
        (benchmark, {"mixture": 0.5, **ONCE}, "without replacement"),
    ],
)
def test_what_cannot_be_drawn_is_refused(made, changes, problem):
    with pytest.raises(BadData, match=f"(?i){problem}"):
        drawn(made(), 3, **changes)


def test_what_another_benchmark_cannot_give_is_refused(data, tmp_path):
    """Examples that were trained on, and a mixture of the classes of two pools."""
    parts = {split: data.distribution(split) for split in ("train", "base", "val")}
    other = Benchmark.of("resplit", **parts, novel=ClassTasks(data.train.pool, np.arange(10, 24)))
    with pytest.raises(BadData, match=r"18 of the 168 novel examples of 'resplit' were trained on"):
        drawn(data, other=other, benchmark=Named(name="resplit"))
    with pytest.raises(BadData, match="are in two"):
        drawn(data, other=glyphs(tmp_path), benchmark=Named(name="glyphs"), mixture=0.5)
