"""Every preset plans anywhere and says what it costs; those of papers have the papers' numbers."""

import re
import shlex
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml
from places import ROOT

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.splits.writers import writer_sizes
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.sweepfile.axes import axis_kind, merged_settings
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep, presets

PAPERS = ("mini", "tiered", "cifar", "fc100", "zappos", "femnist", "metadl")
SHARED = ("benchmark", "episode", "evaluation", "seeds", "budget", "measure")


def file(preset: str) -> str:
    return (ROOT / "sweeps" / f"{preset}.yaml").read_text()


@pytest.mark.parametrize("name", presets())
def test_a_dry_run_plans_and_says_what_is_missing(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    prepared = prepare(name, None, [], [])
    plan, code = prepared.plan, show_plan(prepared)
    text, error = capsys.readouterr()
    assert plan.name == name
    assert len({trial.spec.seed for trial in plan.trials}) > 1  # replicates
    assert f"{len(plan.specs)} trials of {len(plan.methods)} methods" in text
    assert "caution" not in text
    assert not (tmp_path / "runs").exists()
    benchmark = plan.trials[0].spec.benchmark.name
    if BENCHMARKS.find(benchmark).cls.download is None:
        assert (code, error) == (0, "")
    else:
        assert (code, error.count("\n")) == (2, 1)
        assert f"fsl-sweep data prepare {benchmark} --from PATH" in error
    if name not in ("omniglot", "quickstart", "writers"):
        steps = re.search(r"to train: (.*)", text)[1]
        words = " ".join(file(name).replace("\n#", "\n").split())
        assert f"Cost: {len(plan.specs)} trials, {steps}" in words


@pytest.mark.parametrize("name", presets())
def test_a_preset_needs_no_download_or_has_a_laptop_variant(name):
    sweep = load_sweep(name)
    if sweep.laptop is None:
        assert BENCHMARKS.find(sweep.config.benchmark.name).cls.download is None
        return
    full, small = plan_sweep(sweep), plan_sweep(sweep.laptop())
    assert small.methods == full.methods  # each with as many configurations
    grids = [{(t.method, t.configuration) for t in plan.trials} for plan in (full, small)]
    assert Counter(m for m, _ in grids[0]) == Counter(m for m, _ in grids[1])
    for of in {trial.spec.benchmark.name for trial in small.trials}:
        assert BENCHMARKS.find(of).cls.download is None
    stands_in = f"glyphs stands in for {sweep.config.benchmark.name}"
    assert small.title == f"{name}-laptop ({stands_in})"
    # What is small of the file's numbers is not said to be the file's: one caution, and no other.
    assert [caution.partition(":")[0] for caution in small.cautions] == [
        "This is the small variant of a sweep"
    ]


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Each value by its dotted path; a grid is the list of its values, one for each point."""
    if axis_kind(value):
        points = value["grid"]
        if not isinstance(points[0], dict):
            return {path: points}
        rows = [leaves(point, path) for point in points]
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        return {k: c[0] if all(v == c[0] for v in c) else c for k, c in columns.items()}
    if not isinstance(value, dict) or path == "schedule":
        return {path: value}
    inner = [leaves(part, f"{path}.{key}".lstrip(".")) for key, part in value.items()]
    return {key: leaf for part in inner for key, leaf in part.items()}


def written(preset: str) -> dict[str, dict[str, Any]]:
    """Settings by method; those of the whole file under the empty name."""
    sweep = yaml.safe_load(file(preset))
    methods = {
        name: leaves(merged_settings(sweep.get("defaults", {}), settings))
        for name, settings in sweep["methods"].items()
    }
    return {"": leaves({key: sweep[key] for key in SHARED if key in sweep}), **methods}


def documented(preset: str) -> dict[str, dict[str, tuple[Any, str]]]:
    """What the page says of a preset: value and source by method and path."""
    text = (ROOT / "docs" / "papers.md").read_text()
    section = re.search(rf"^## `{preset}`.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    page: dict[str, dict[str, tuple[Any, str]]] = {}
    row = re.compile(r"^\| (.*?) \| `(.*?)` \| `(.*?)` \| (.+?) \|$", re.MULTILINE)
    for methods, key, value, source in row.findall(section[0]):
        for method in [""] if methods == "file" else methods.split(", "):
            rows = page.setdefault(method, {})
            assert key not in rows, f"{preset}: {method} {key} stands there twice"
            rows[key] = yaml.safe_load(value), source
    return page


@pytest.mark.parametrize("preset", PAPERS)
def test_the_page_lists_every_setting_with_its_source(preset):
    page = documented(preset)
    settings = {m: {key: value for key, (value, _) in rows.items()} for m, rows in page.items()}
    assert settings == written(preset)
    for key, (_, source) in (row for rows in page.values() for row in rows.items()):
        assert re.search(r"\b(TS|FM|MD|code|ours|Meta(DL|Delta|-Baseline)|the)\b", source), key


LONG = [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]
LEARNED, SEVEN = {"scale": 1.0, "learn_scale": True}, {"scale": 7.0, "learn_scale": False}
INNER = {"scale": 1.0, "inner_lr": 0.01, "inner_steps": 5, "inner_steps_test": 20}
FIXED = {"scale": 10.0, "metric": "euclidean", "learn_scale": False}
# "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4: epochs, rates, size of a batch.
TABLE_4 = {
    "PN": (60, LONG, 4, FIXED),
    **dict.fromkeys(("RR", "SVM"), (60, LONG, 8, LEARNED)),
    "FOMAML": (70, [(0, 0.01), (35, 0.001), (65, 0.0001)], 4, INNER),
    "SB": (100, [(0, 0.1), (90, 0.01)], 128, {"scale": 10.0}),
    "MB": (130, [(0, 0.1), (90, 0.01), (100, 0.001)], 128, {"scale": 10.0}),
}
SHORT = (60, [(0, 0.01), (20, 0.006), (40, 0.0012)], 4, INNER)
SHORTER = {
    "PN": (15, [(0, 0.1), (5, 0.006)], 4, FIXED),
    **dict.fromkeys(("RR", "SVM"), (30, LONG[:2], 8, SEVEN)),
    "FOMAML": SHORT,
}
PUBLISHED = {"mini": {}, "tiered": {}, "cifar": {"FOMAML": SHORT}, "fc100": SHORTER}


@cache
def plan(preset):
    return plan_sweep(load_sweep(preset))


def specs(preset, method):
    """The specifications of a method's configurations, with the first seed."""
    return [t.spec for t in plan(preset).trials if (t.method, t.spec.seed) == (method, 0)]


def rates(spec):
    return [(epoch, round(rate, 9)) for epoch, rate in spec.schedule]


@pytest.mark.parametrize("preset", PUBLISHED)
def test_the_published_configuration_is_a_point_of_each_grid(preset):
    for method, (epochs, schedule, batch, options) in {**TABLE_4, **PUBLISHED[preset]}.items():
        planned = specs(preset, method)
        published = [
            spec
            for spec in planned
            if (spec.epochs, rates(spec), spec.batches) == (epochs, schedule, 1000)
            and batch == (getattr(spec.stage(1), "batch_size", 0) or spec.stage(1).tasks_per_batch)
            and options.items() <= spec.learner.options.items()
            and (spec.optimizer.name, spec.optimizer.weight_decay) == ("sgd", 5e-4)
        ]
        assert (len(published), len(planned) > 1) == (1, method not in ("SB", "MB")), method


@pytest.mark.parametrize("preset", PUBLISHED)
def test_fix_ml_differs_from_its_counterpart_in_the_support_only(preset):
    for method in ("PN", "RR", "SVM", "FOMAML"):
        trained = [[s.canonical() for s in specs(preset, fix + method)] for fix in ("FIX-", "")]
        for fixed, plains in zip((True, False), trained, strict=True):
            assert {plain["train"].pop("fixed_support") for plain in plains} == {fixed}
        assert trained[0] == trained[1]


def shown(protocol):
    shapes = {measure: protocol.shape(measure) for measure in MEASURES}
    shapes = [f"{measure} {s.way}w{s.shot}s{s.query}q" for measure, s in shapes.items()]
    return f"{', '.join(shapes)}; {protocol.tasks.report_tasks} tasks"


@pytest.mark.parametrize("preset", PAPERS)
def test_what_is_planned_is_what_the_papers_did(preset, snapshot):
    """What all configurations share, then what each has of its own; compare with docs/papers.md."""
    trials = [t for t in plan(preset).trials if t.spec.seed == 0 and t.method[:4] != "FIX-"]
    rows = [leaves(t.spec.canonical() | {"schedule": rates(t.spec)}) for t in trials]
    shared = {k: v for k, v in rows[0].items() if all(k in row and row[k] == v for row in rows)}
    lines = [f"{key}: {value}" for key, value in shared.items()]
    for trial, row in zip(trials, rows, strict=True):
        apart = [f"{key} {value}" for key, value in row.items() if key not in shared]
        lines.append(f"{trial.method}: {', '.join(apart)}")
    lines += [f"{p.name}: {shown(p.protocol)}" for p in plan(preset).protocols]
    lines.append(f"seeds: {sorted({trial.spec.seed for trial in plan(preset).trials})}")
    assert "\n".join(lines) == snapshot


def test_an_epoch_is_a_pass_over_the_training_tasks():
    """Of the writers of FEMNIST all but those of val and novel, whose tasks are measured once."""
    train, _, novel = writer_sizes(3597)
    assert 0 <= plan("femnist").trials[0].spec.batches * 5 - train < 5
    assert plan("femnist").main.protocol.tasks.report_tasks == novel
    spec = plan("zappos").trials[0].spec
    assert 4 * spec.batches == spec.benchmark.options["training_tasks"]


def test_a_part_of_a_preset_is_planned_with_only_and_set(capsys, tmp_path):
    prepared = prepare("mini", tmp_path / "run", ["seeds=[0]"], ["PN", "FIX-PN"])
    assert show_plan(prepared) == 2  # there is no data
    text = capsys.readouterr().out
    assert "done already: 0; to run: 6; not in --only: 14" in text
    assert (text.count("  to run  "), text.count("  later   ")) == (6, 14)
    plan = prepare("cifar", None, ["defaults.backbone={name: conv4}"], ["PN"]).plan
    assert {t.spec.backbone.name for t in plan.trials if t.method == "PN"} == {"conv4"}


def test_the_challenges_public_phase_has_19_queries():
    public = [line for line in file("metadl").splitlines() if line.startswith("#   --set")]
    changes = shlex.split(" ".join(line.lstrip("# ") for line in public))
    planned = plan_sweep(load_sweep("metadl", [c for c in changes if "=" in c]))
    assert shown(planned.main.protocol) == "base 5w1s3q, val 5w1s19q, novel 5w1s19q; 600 tasks"
    trained = {trial.spec.episodic for trial in planned.trials}
    assert max(t.shot + t.query for t in trained if t) == 16  # images of a class to train on
