"""``fsl-sweep analyze classes``: accuracy by class and confusions, counted in another way."""

import json
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
import yaml
from commands import TINY, finished
from made import plan, planned, spec
from scipy import stats
from trials import replicates

from fsl_sweep import load_run
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.snapshot import restored
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring import evaluator
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.planning.prepare import open_benchmarks
from fsl_sweep.orchestrator.records.measures import TaskScores
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.report.figures.sheet import sheet
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.classes import Answers
from fsl_sweep.orchestrator.studies.classes import ByClass, Classes, ClassesOptions, MethodClasses
from fsl_sweep.orchestrator.studies.finding import Finding

torch = pytest.importorskip("torch")

MADE = yaml.safe_load(TINY) | {"methods": {"PN": {"learner": {"name": "protonet"}}}}
MADE["defaults"]["train"]["tasks_per_batch"] = 1
MADE["defaults"]["epochs"] = 1
MADE["evaluation"]["report_tasks"] = 120
WRITERS = MADE | {
    "benchmark": {
        "name": "glyphs",
        "tasks": "writers",
        "classes_per_alphabet": 5,
        "image_size": 16,
    },
    "episode": {"way": "all", "shot": 1, "query": "rest"},
    "evaluation": {"selection_tasks": 3, "report_tasks": 3},
}
SAME = MADE | {
    "benchmark": MADE["benchmark"] | {"name": "in-distribution:glyphs", "examples": 40},
    "defaults": MADE["defaults"] | {"train": {"batch_size": 8}},
    "methods": {"CL": {"learner": {"name": "classifier"}}},
}
ATTRIBUTES = MADE | {
    "benchmark": {"name": "glyphs", "tasks": "attributes", "image_size": 16},
    "episode": {"way": 2, "shot": 1, "query": 2},
    "methods": {"RAW": {"learner": {"name": "ncc"}, "backbone": {"name": "identity"}}},
}


def brute(tasks, answers, among_all=False):
    """Count query by query: of each class, and of each pair, the share in each task.

    ``tasks`` are ``{class: queries}``; ``answers[snapshot][task][class]`` lists of answers.
    """
    right, wrong = defaultdict(list), defaultdict(list)
    every = {answer for one in answers for t in one for said in t.values() for answer in said}
    for number, classes in enumerate(tasks):
        for label in classes:
            said = [answer for one in answers for answer in one[number][label]]
            right[label].append(said.count(label) / len(said))
            for other in (every if among_all else classes) - {label}:
                wrong[label, other].append(said.count(other) / len(said))
    return right, {pair: shares for pair, shares in wrong.items() if any(shares)}


def check(interval, values):
    assert interval["n"] == len(values)
    assert interval["mean"] == pytest.approx(np.mean(values), abs=1e-12)
    if len(values) > 1:
        freedom = len(values) - 1 if len(values) < 100 else np.inf
        half = stats.t.ppf(0.975, freedom) * stats.sem(values)
        ends = [interval["low"], interval["high"]]
        assert ends == pytest.approx([np.mean(values) - half, np.mean(values) + half], abs=1e-12)


@pytest.mark.parametrize(("seed", "among_all"), [*product(range(3), [False, True])])
def test_shares_and_intervals_are_those_of_counting_each_query(seed, among_all):
    rng = np.random.default_rng(seed)
    rows, tasks, task, label, drawn = [], [], [], [], []
    for number in range(130):
        chosen = rng.choice(7, rng.integers(2, 5), replace=False)
        rows.append(rng.permutation([*chosen, *[-1] * (5 - len(chosen))]))
        tasks.append({int(c) for c in chosen})
        for c in (c for c in rows[-1] if c >= 0):
            count = rng.integers(1, 4)
            task += [number] * count
            label += [int(c)] * count
            drawn += rng.choice(range(7) if among_all else chosen, (count, 2)).tolist()
    classes, task, label = np.array(rows), np.array(task), np.array(label)
    answers = np.array(drawn).T
    said = [[defaultdict(list) for _ in tasks] for _ in answers]
    for one, labels in zip(said, answers, strict=True):
        for t, c, answer in zip(task, label, labels, strict=True):
            one[t][int(c)].append(int(answer))
    right, wrong = brute(tasks, said, among_all)
    found = Answers(classes, task, label, answers, among_all)
    for intervals, values in ((found.accuracies, right), (found.confusions, wrong)):
        assert intervals.keys() == values.keys()
        for key, interval in intervals.items():
            check(vars(interval), values[key])
    many = [interval.mean for interval in found.accuracies.values() if interval.n >= 30]
    assert many == sorted(many)
    assert all(interval.n < 30 for interval in [*found.accuracies.values()][len(many) :])
    pairs = [(interval.n < 30, -interval.mean) for interval in found.confusions.values()]
    assert pairs == sorted(pairs)


def live(folder, snapshot):
    """Return what a snapshot answers to the novel report tasks, one image or task at a time."""
    plan = Ledger(folder).planned()
    data: Benchmark = open_benchmarks(plan, ())[MAIN]
    drawn = CommonTasks.draw(data, plan.main.protocol)
    episodes, pool = drawn.episodes["novel", "report"], drawn.pools["novel"]
    images = PoolImages(pool, data, torch.device("cpu"))
    path = Ledger(folder).trial(snapshot["trial"]).check_snapshot(snapshot["epoch"])
    learner: Any = restored(path.read_bytes(), "it")[0].eval()
    tasks = []
    for classes, support, query in zip(
        episodes.classes, episodes.support, episodes.query, strict=True
    ):
        there = classes >= 0
        order = [pool.class_names[c] for c in classes[there]]
        shots, said = images.normalised(images.unit(support[there])), {}
        for name, own in zip(order, query[there], strict=True):
            asked = images.normalised(images.unit(own[own >= 0]))
            with torch.no_grad():
                if isinstance(learner, ClassificationLearner):
                    best, names = learner.classify(asked).argmax(-1), data.train.classes
                    said[name] = [pool.class_names[names[at]] for at in best]
                else:
                    kept = learner.embed(shots.flatten(0, 1)).view(1, *shots.shape[:2], -1)
                    best = learner.head(kept, learner.embed(asked)[None]).argmax(-1)[0]
                    said[name] = [order[at] for at in best]
        tasks.append(said)
    return tasks


@pytest.mark.parametrize("sweep", [MADE, WRITERS, SAME], ids=["classes", "writers", "classifier"])
def test_a_run_is_counted_as_a_live_forward_pass_and_as_its_recorded_answers(
    sweep, tmp_path, plain
):
    folder = finished(tmp_path / "run", sweep)
    found = plain("analyze", "classes", folder)
    (method,) = found["methods"]
    assert [s["seed"] for s in method["snapshots"]] == [0, 1]
    assert found["differing_tasks"] == {}
    answers = [live(folder, snapshot) for snapshot in method["snapshots"]]
    right, wrong = brute([{*task} for task in answers[0]], answers, sweep is SAME)
    assert {row["class"] for row in method["classes"]} == {*right}
    for row in method["classes"]:
        check(row, right[row["class"]])
    assert {(row["class"], row["answered_as"]) for row in method["confusions"]} == {*wrong}
    for row in method["confusions"]:
        check(row, wrong[row["class"], row["answered_as"]])
    kept = finished(tmp_path / "kept", sweep | {"record": "predictions"})
    assert invoke(["prune", str(kept), "--keep", "none", "--yes"]) == 0
    said = []
    recorded = load_run(kept).study("classes", progress=said.append)
    assert json.loads(recorded.written("json")) == found
    assert said == []


def made(name, seed, tasks):
    """Return what three snapshots answer to made tasks of three of four classes."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(4)[:3] for _ in range(tasks)]
    task, label = np.repeat(np.arange(tasks), 6), np.repeat(rows, 2)
    wrong = rng.random((3, 6 * tasks)) < 0.2 + 0.5 * (label == 0)
    others = np.array(
        [
            rng.choice([c for c in rows[t] if c != right])
            for t, right in zip(task, label, strict=True)
        ]
    )
    answers = np.where(wrong, others, label)
    found = Answers(np.array(rows), task, label, answers)
    (history,) = replicates(name, [[0.5]], base=[0.5], val=[0.5])
    return MethodClasses(name, (Snapshot(history, 1),), found.accuracies, found.confusions)


def test_what_people_read(snapshot):
    methods = made("PN", 0, 100), made("RR", 1, 20)
    lead, main = Strategy("val", "val", oracle=False), plan(planned(spec())).main
    found = ByClass(ClassesOptions(top=2), lead, main, ["a", "b_1", "c", "d"], methods, {"X": 1})
    finding = Finding(Classes(), found)
    shown = "".join(finding.written(form) for form in ("terminal", "markdown", "latex"))
    assert shown == snapshot
    (figure,) = finding.figures["answer"]
    assert [panel.title for panel in figure.panels] == ["PN", "RR"]
    assert sheet(figure).saved("svg")


def test_a_picture_and_what_is_measured_again(tmp_path, said, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished("run", MADE)
    text = said("analyze classes run --top 3 --plot a.svg")
    assert "The hardest 3 of 5 classes" in text
    assert "PN (trial ID1, epoch 1, seed 1): measured again" in text
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_answers_that_differ_from_the_records_are_named(tmp_path, monkeypatch):
    folder = finished(tmp_path / "run", MADE)
    assert load_run(folder).study("classes").document.warnings == ()

    def otherwise(*arguments):
        """Give another answer to the first query of the first three tasks."""
        (scores,) = answered(*arguments).values()
        first = np.cumsum(scores.queries)[:3] - scores.queries[:3]
        answers = np.array(scores.answers)
        answers[first] = np.where(answers[first] == 0, 1, 0)
        return {"": TaskScores.of_answers(answers, scores.queries)}

    answered = evaluator.answered
    monkeypatch.setattr(evaluator, "answered", otherwise)
    finding = load_run(folder).study("classes")
    assert set(finding.result.differing.values()) == {3}
    assert len(finding.document.warnings) == 2
    assert "seed 0) was measured again, and 3 report tasks came out" in finding.written("markdown")


def test_tasks_of_attributes_have_no_classes(tmp_path):
    folder = finished(tmp_path / "run", ATTRIBUTES)
    with pytest.raises(RunFolderError, match="made of attributes"):
        load_run(folder).study("classes")
