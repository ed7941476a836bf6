"""Every preset validates and plans anywhere, and says what data it lacks."""

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.cifar100_classes import SUPERCLASS_OF
from fsl_sweep.orchestrator.cli import invoke, running
from fsl_sweep.orchestrator.sweepfile import presets


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def cifar100_folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("classes")
    rng = np.random.default_rng(0)
    for name in SUPERCLASS_OF:
        (root / name).mkdir()
        for image in range(12):
            pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{image}.png")
    return root


def planned(name, *overrides):
    return running.prepare(name, None, list(overrides), []).plan


@pytest.mark.parametrize("name", presets())
def test_a_dry_run_plans_and_says_what_is_missing(name, capsys, tmp_path):
    plan = planned(name)
    assert len({trial.spec.seed for trial in plan.trials}) > 1  # replicates
    assert plan.name == name
    code = invoke(["run", name, "--dry-run"])
    shown = capsys.readouterr()
    assert f"{len(plan.specs)} trials of {len(plan.methods)} methods" in shown.out
    assert "caution" not in shown.out
    benchmark = plan.trials[0].spec.benchmark.name
    if BENCHMARKS.find(benchmark).cls.download is None:
        assert (code, shown.err) == (0, "")
    else:
        assert code == 2
        assert f"fsl-sweep data prepare {benchmark} --from PATH" in shown.err
        assert shown.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


LONG = [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]
CIFAR = {  # of appendix D.2's table 4: epochs, schedule, (way, tasks) or the batch, learner options
    "PN": (60, LONG, (20, 1), {"scale": 10.0, "learn_scale": False, "metric": "euclidean"}),
    "RR": (60, LONG, (5, 8), {"learn_scale": True, "lam": 50.0}),
    "SVM": (60, LONG, (5, 8), {"learn_scale": True, "C": 0.1}),
    "FOMAML": (
        60,
        [(0, 0.01), (20, 0.006), (40, 0.0012)],
        (5, 4),
        {"scale": 1.0, "inner_lr": 0.01, "inner_steps": 5, "inner_steps_test": 20},
    ),
    "SB": (100, [(0, 0.1), (90, 0.01)], 128, {"scale": 10.0}),
    "MB": (130, [(0, 0.1), (90, 0.01), (100, 0.001)], 128, {"scale": 10.0}),
}
FIXED = {"scale": 7.0, "learn_scale": False}
FC = {
    **CIFAR,
    "PN": (15, [(0, 0.1), (5, 0.006)], *CIFAR["PN"][2:]),
    "RR": (30, LONG[:2], (5, 8), FIXED),
    "SVM": (30, LONG[:2], (5, 8), FIXED),
}


@pytest.mark.parametrize(("name", "table"), [("cifar", CIFAR), ("fc100", FC)])
def test_the_papers_table_for_cifar_m_and_fc_m(name, table):
    specs = {trial.method: trial.spec for trial in planned(name).trials}
    assert set(specs) == set(table)
    for method, (epochs, schedule, batch, options) in table.items():
        spec = specs[method]
        assert (spec.epochs, spec.schedule) == (epochs, schedule), method
        train = spec.stage(1)
        found = getattr(train, "batch_size", None) or (train.way, train.tasks_per_batch)
        assert found == batch, method
        assert options.items() <= spec.learner.options.items(), method
        optimizer = spec.optimizer
        assert (optimizer.name, optimizer.momentum, optimizer.nesterov) == ("sgd", 0.9, True)
        assert (optimizer.weight_decay, spec.batches) == (5e-4, 1000)
        assert (spec.backbone.name, spec.augment) == ("resnet12", "crop-jitter-flip")
        assert round(spec.benchmark.options["held_out"] * 600) == 100


def test_the_challenges_terms():
    plan = planned("metadl")
    specs = {trial.method: trial.spec for trial in plan.trials}
    spec = specs["fo-MAML"]
    assert (spec.episode.way, spec.episode.shot) == (5, 1)
    assert (spec.evaluation.report_tasks, spec.budget.seconds) == (600, 7200)
    assert sorted({trial.spec.seed for trial in plan.trials}) == [0, 1, 2]
    assert spec.epochs * spec.batches == 1100
    assert (spec.episodic.tasks_per_batch, spec.learner.options["inner_lr"]) == (32, 0.05)
    assert specs["PN"].epochs * specs["PN"].batches == 1500
    assert (specs["PN"].optimizer.name, specs["PN"].optimizer.lr) == ("adam", 0.005)


SMALL = [
    "benchmark.image_size=16",
    "episode={way: 5, shot: 1, query: 1}",
    "evaluation={selection_tasks: 4, report_tasks: 4}",
    "defaults.backbone={name: conv4, width: 4}",
    "defaults.batches=1",
    "seeds=[0]",
]
EPISODES = "{way: 5, shot: 2, query: 2, tasks_per_batch: 1}"
PAPER = [
    *(f"methods.{method}.train={EPISODES}" for method in ("PN", "RR", "SVM", "FOMAML")),
    *(f"methods.{method}.schedule={{}}" for method in CIFAR),
    *(f"methods.{method}.epochs={2 if method == 'MB' else 1}" for method in CIFAR),
    "methods.MB.train.meta={epochs: 1, way: 5, shot: 1, query: 1, tasks_per_batch: 1}",
    "methods.SB.optimizer.lr=0.01",
]
CHALLENGE = [
    *(f"methods.{method}.train={EPISODES}" for method in ("fo-MAML", "PN", "conv-qda")),
    "defaults.epochs=1",
    "methods.fo-MAML.epochs=1",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overrides"), [("cifar", PAPER), ("fc100", PAPER), ("metadl", CHALLENGE)]
)
def test_every_method_runs_on_a_small_data_set_in_the_official_layout(
    name, overrides, cifar100_folders, tmp_path, capsys
):
    changes = [*SMALL, *overrides, f"benchmark.root={cifar100_folders}"]
    prepared = running.prepare(name, tmp_path / "run", changes, [])
    assert {t.method for t in prepared.plan.trials} == {t.method for t in planned(name).trials}
    for index in range(len(prepared.plan.trials)):
        end = running.execute_one(prepared, index)
        assert end.status == "done", (prepared.plan.trials[index].method, end.reason)
