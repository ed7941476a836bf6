"""The papers' presets: every number has its source, and the published ones are among them."""

import re
import shlex
from functools import cache
from typing import Any

import pytest
import yaml
from places import ROOT

from fsl_sweep.datasets.splits.writers import writer_sizes
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.sweepfile.axes import axis_kind, merged_settings
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

IMAGES = ("mini", "tiered", "cifar", "fc100")
PAPERS = (*IMAGES, "zappos", "femnist", "metadl")


SHARED = ("benchmark", "episode", "evaluation", "seeds", "budget", "measure")


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Each value by its dotted path; a grid is the list of its values, one for each point."""
    if axis_kind(value):
        points = value["grid"]
        if not isinstance(points[0], dict):
            return {path: points}
        found = [leaves(point, path) for point in points]
        columns = {key: [point[key] for point in found] for key in found[0]}
        return {k: c[0] if all(v == c[0] for v in c) else c for k, c in columns.items()}
    if not isinstance(value, dict) or path == "schedule":
        return {path: value}
    inner = [leaves(one, f"{path}.{key}".lstrip(".")) for key, one in value.items()]
    return {key: one for found in inner for key, one in found.items()}


def written(preset: str) -> dict[str, dict[str, Any]]:
    """Settings by method; those of the whole file under the empty name."""
    file = yaml.safe_load((ROOT / "sweeps" / f"{preset}.yaml").read_text())
    methods = {
        name: leaves(merged_settings(file.get("defaults", {}), own))
        for name, own in file["methods"].items()
    }
    return {"": leaves({key: file[key] for key in SHARED if key in file}), **methods}


def documented(preset: str) -> dict[str, dict[str, tuple[Any, str]]]:
    """What the page says of a preset: value and source by method and path."""
    text = (ROOT / "docs" / "papers.md").read_text()
    section = re.search(rf"^## `{preset}`.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/papers.md has no section on {preset}"
    found: dict[str, dict[str, tuple[Any, str]]] = {}
    for methods, key, value, source in re.findall(
        r"^\| (.*?) \| `(.*?)` \| `(.*?)` \| (.+?) \|$", section[0], re.MULTILINE
    ):
        for method in [""] if methods == "file" else methods.split(", "):
            rows = found.setdefault(method, {})
            assert key not in rows, f"{preset}: {method} {key} stands there twice"
            rows[key] = yaml.safe_load(value), source
    return found


@pytest.mark.parametrize("preset", PAPERS)
def test_the_page_lists_every_setting_with_its_source(preset):
    page = documented(preset)
    assert {
        method: {key: value for key, (value, _) in rows.items()} for method, rows in page.items()
    } == written(preset)
    for rows in page.values():
        for key, (_, source) in rows.items():
            assert re.search(r"\b(TS|FM|MD|code|ours|Meta(DL|Delta|-Baseline)|the)\b", source), key


LONG = [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]
LEARNED, SEVEN = {"scale": 1.0, "learn_scale": True}, {"scale": 7.0, "learn_scale": False}
INNER = {"scale": 1.0, "inner_lr": 0.01, "inner_steps": 5, "inner_steps_test": 20}
# "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4: epochs, rates, tasks or images a
# batch.
TABLE_4 = {
    "PN": (60, LONG, 4, {"scale": 10.0, "metric": "euclidean", "learn_scale": False}),
    "RR": (60, LONG, 8, LEARNED),
    "SVM": (60, LONG, 8, LEARNED),
    "FOMAML": (70, [(0, 0.01), (35, 0.001), (65, 0.0001)], 4, INNER),
    "SB": (100, [(0, 0.1), (90, 0.01)], 128, {"scale": 10.0}),
    "MB": (130, [(0, 0.1), (90, 0.01), (100, 0.001)], 128, {"scale": 10.0}),
}
SHORT = (60, [(0, 0.01), (20, 0.006), (40, 0.0012)], 4, INNER)
PUBLISHED = {
    "mini": TABLE_4,
    "tiered": TABLE_4,
    "cifar": {**TABLE_4, "FOMAML": SHORT},
    "fc100": {
        **TABLE_4,
        "PN": (15, [(0, 0.1), (5, 0.006)], *TABLE_4["PN"][2:]),
        "RR": (30, LONG[:2], 8, SEVEN),
        "SVM": (30, LONG[:2], 8, SEVEN),
        "FOMAML": SHORT,
    },
}
# Average pooling, from the scripts that the authors released.
UNPOOLED = {"mini": {"RR"}, "tiered": {"RR", "SVM"}, "cifar": {"RR", "SVM"}, "fc100": set()}


@cache
def plan(preset):
    return plan_sweep(load_sweep(preset))


def specs(preset):
    """The specifications of each method's configurations, with the first seed."""
    found = {}
    for trial in plan(preset).trials:
        if trial.spec.seed == 0:
            found.setdefault(trial.method, []).append(trial.spec)
    return found


@pytest.mark.parametrize("preset", IMAGES)
def test_the_published_configuration_is_a_point_of_each_grid(preset):
    planned = specs(preset)
    for method, (epochs, rates, batch, options) in PUBLISHED[preset].items():

        def published(spec, epochs=epochs, rates=rates, batch=batch, options=options):
            train = spec.stage(1)
            size = getattr(train, "batch_size", None) or train.tasks_per_batch
            optimizer = spec.optimizer
            return (
                (spec.epochs, size, spec.batches) == (epochs, batch, 1000)
                and [(epoch, round(rate, 9)) for epoch, rate in spec.schedule] == rates
                and options.items() <= spec.learner.options.items()
                and (optimizer.name, optimizer.momentum, optimizer.nesterov) == ("sgd", 0.9, True)
                and optimizer.weight_decay == 5e-4
            )

        assert sum(published(spec) for spec in planned[method]) == 1, method
    assert all(len(planned[method]) > 1 for method in ("PN", "RR", "SVM", "FOMAML"))


@pytest.mark.parametrize("preset", IMAGES)
def test_backbone_and_augmentation_are_the_papers(preset):
    augment = "resized-crop-jitter-flip" if preset == "mini" else "crop-jitter-flip"
    for method, found in specs(preset).items():
        for spec in found:
            assert (spec.backbone.name, spec.augment) == ("resnet12", augment)
            pooled = method.removeprefix("FIX-") not in UNPOOLED[preset]
            assert spec.backbone.options["avg_pool"] == pooled, method


@pytest.mark.parametrize("preset", IMAGES)
def test_fix_ml_differs_from_its_counterpart_in_the_support_only(preset):
    planned = specs(preset)
    for method in ("PN", "RR", "SVM", "FOMAML"):
        fixed = [spec.canonical() for spec in planned[f"FIX-{method}"]]
        assert all(plain["train"].pop("fixed_support") for plain in fixed)
        free = [spec.canonical() for spec in planned[method]]
        assert not any(plain["train"].pop("fixed_support") for plain in free)
        assert fixed == free


def shown(protocol):
    of = {m: protocol.shape(m) for m in MEASURES}
    return [(m, s.way, s.shot, s.query) for m, s in of.items()], protocol.tasks.report_tasks


@pytest.mark.parametrize("preset", ["mini", "cifar", "fc100"])
def test_one_model_is_measured_as_in_fix_mls_table_1(preset):
    """ "Lessons from Chasing Few-Shot Learning Benchmarks", table 1."""
    found = {one.name: shown(one.protocol) for one in plan(preset).protocols[1:]}
    assert found == {
        f"5w{shot}s": ([(m, 5, shot, 15) for m in MEASURES], 10_000) for shot in (5, 1)
    }


def test_ways_of_prototypical_networks():
    ways = {
        p: [(s.episodic.way, s.episodic.tasks_per_batch) for s in specs(p)["PN"]] for p in IMAGES
    }
    assert ways == {
        "mini": [(5, 4), (20, 1), (64, 1)],
        "tiered": [(5, 4), (20, 1)],
        "cifar": [(5, 4), (20, 1), (64, 1)],
        "fc100": [(5, 4), (20, 1), (60, 1)],
    }


def test_a_part_of_a_preset_is_planned_with_only_and_set(capsys, tmp_path):
    prepared = prepare("mini", tmp_path / "run", ["seeds=[0]"], ["PN", "FIX-PN"])
    assert show_plan(prepared) == 2  # there is no data
    shown = capsys.readouterr().out
    assert "done already: 0; to run: 6; not in --only: 14" in shown
    assert shown.count("  to run  ") == 6
    assert shown.count("  later   ") == 14
    prepared = prepare("cifar", None, ["defaults.backbone={name: conv4}"], ["PN"])
    names = {t.spec.backbone.name for t in prepared.plan.trials if t.method == "PN"}
    assert names == {"conv4"}


def test_the_challenges_terms():
    specs = {trial.method: trial.spec for trial in plan("metadl").trials}
    spec = specs["fo-MAML"]
    protocol = plan("metadl").main.protocol
    assert (protocol.episode.way, protocol.episode.shot) == (5, 1)
    assert (protocol.tasks.report_tasks, spec.budget.seconds) == (600, 7200)
    assert sorted({trial.spec.seed for trial in plan("metadl").trials}) == [0, 1, 2]
    assert spec.epochs * spec.batches == 1100
    assert (spec.episodic.tasks_per_batch, spec.learner.options["inner_lr"]) == (32, 0.05)
    assert specs["PN"].epochs * specs["PN"].batches == 1500
    assert (specs["PN"].optimizer.name, specs["PN"].optimizer.lr) == ("adam", 0.005)


def test_the_challenges_public_phase_has_19_queries():
    text = (ROOT / "sweeps" / "metadl.yaml").read_text()
    public = [line for line in text.splitlines() if line.startswith("#   --set")]
    changes = shlex.split(" ".join(line.lstrip("# ") for line in public))
    planned = plan_sweep(load_sweep("metadl", [c for c in changes if "=" in c]))
    shapes = [("base", 5, 1, 3), ("val", 5, 1, 19), ("novel", 5, 1, 19)]
    assert shown(planned.main.protocol) == (shapes, 600)
    asked = {trial.spec.episodic for trial in planned.trials}
    assert max(t.shot + t.query for t in asked if t) == 16  # images of a class to train on


def test_the_papers_table_for_femnist():
    """Table 4 of "Two Sides of Meta-Learning Evaluation", appendix D.2, and its text."""
    specs = {trial.method: trial.spec for trial in plan("femnist").trials}
    assert set(specs) == {"PN", "RR", "SVM"}
    writers = writer_sizes(3597)[0]
    protocol = plan("femnist").main.protocol
    assert protocol.episode == Episode(way="all", shot=1, query="rest")
    assert protocol.tasks.report_tasks == writer_sizes(3597)[2]
    for spec in specs.values():
        assert (spec.epochs, spec.schedule) == (100, [(0, 1e-3), (50, 1e-4)])
        train = spec.episodic
        assert (train.way, train.shot, train.query) == ("all", 1, "rest")
        assert train.tasks_per_batch == 5
        optimizer = spec.optimizer
        assert (optimizer.name, optimizer.momentum, optimizer.nesterov) == ("sgd", 0.9, True)
        assert (optimizer.weight_decay, spec.augment) == (1e-2, "none")
        assert (spec.backbone.name, spec.backbone.options["width"]) == ("conv4", 64)
        # An epoch is a pass over the writers that train, who are all but val and novel.
        assert spec.benchmark.options["base"] == "redrawn"
        assert 0 <= spec.batches * 5 - writers < 5
    assert {"scale": 10.0, "metric": "euclidean", "learn_scale": False}.items() <= (
        specs["PN"].learner.options.items()
    )
    assert specs["RR"].learner.options["learn_scale"]
    assert specs["SVM"].learner.options["learn_scale"]


ZAPPOS = {"PN": "protonet", "RR": "ridge", "SVM": "svm", "FOMAML": "fomaml"}


def test_zappos_has_the_values_of_table_4():
    """ "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4."""
    trials = plan("zappos").trials
    assert {t.method: t.spec.learner.name for t in trials} == ZAPPOS
    assert plan("zappos").main.protocol.episode == Episode(way=2, shot=5, query=10)
    for trial in trials:
        spec = trial.spec.canonical()
        assert (spec["epochs"], spec["augment"], spec["backbone"]["name"]) == (
            60,
            "none",
            "resnet12",
        )
        rates = [(epoch, round(rate, 9)) for epoch, rate in spec["schedule"]]
        # The table's, and those of the released scripts.
        assert rates in ([(0, 0.1), (30, 6e-3)], [(0, 0.01), (30, 6e-4)])
        assert spec["optimizer"]["weight_decay"] == 5e-4
        assert spec["train"]["tasks_per_batch"] == 4
        # An epoch is a pass over the training tasks.
        assert 4 * spec["batches"] == spec["benchmark"]["training_tasks"] == 1000
        assert spec["benchmark"]["images"] == "shared"
        pooled = spec["learner"]["name"] in ("protonet", "fomaml")
        assert spec["backbone"]["avg_pool"] == pooled
    learners = {trial.method: trial.spec.canonical()["learner"] for trial in trials}
    assert learners["PN"]["scale"] == 10
    assert learners["RR"]["learn_scale"]
    assert learners["SVM"]["learn_scale"]
    assert [learners["FOMAML"][key] for key in ("inner_steps", "inner_steps_test", "way")] == [
        5,
        20,
        2,
    ]
