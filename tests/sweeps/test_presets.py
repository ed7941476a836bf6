"""Every preset validates and plans anywhere, and says what data it lacks."""

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.cifar100_classes import SUPERCLASS_OF
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.execute import execute_one
from fsl_sweep.orchestrator.prepare import prepare
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
    return prepare(name, None, list(overrides), []).plan


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
FIXED = "{way: 5, shot: 2, query: 2, tasks_per_batch: 1, fixed_support: true}"
PAPER = [
    *(f"methods.{method}.train={EPISODES}" for method in ("PN", "RR", "SVM", "FOMAML")),
    *(f"methods.FIX-{method}.train={FIXED}" for method in ("PN", "RR", "SVM", "FOMAML")),
    *(f"methods.{method}.schedule={{}}" for method in ("PN", "FIX-PN", "FOMAML", "SB", "MB")),
    *(f"methods.{method}.epochs=1" for method in ("PN", "FIX-PN", "FOMAML", "SB")),
    "defaults.schedule={}",
    "defaults.epochs=1",
    "methods.RR.backbone={name: conv4, width: 4}",
    "methods.SVM.backbone={name: conv4, width: 4}",
    "methods.FOMAML.learner.inner_steps_test=2",
    "methods.MB.epochs=2",
    "methods.MB.train.meta={epochs: 1, way: 5, shot: 1, query: 1, tasks_per_batch: 1}",
    "methods.SB.optimizer.lr=0.01",
]
LEARNERS = ["PN", "RR", "SVM", "FOMAML", "SB", "MB", "FIX-PN"]
CHALLENGE = [
    *(f"methods.{method}.train={EPISODES}" for method in ("fo-MAML", "PN", "conv-qda")),
    "defaults.epochs=1",
    "methods.fo-MAML.epochs=1",
]
WINNERS = ["fo-MAML", "PN", "transfer", "metadelta", "pt-map", "conv-qda", "ncc"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overrides", "methods"),
    [("cifar", PAPER, LEARNERS), ("fc100", PAPER, ["PN", "RR"]), ("metadl", CHALLENGE, WINNERS)],
)
def test_every_learner_runs_on_a_small_data_set_in_the_official_layout(
    name, overrides, methods, cifar100_folders, tmp_path, capsys
):
    changes = [*SMALL, *overrides, f"benchmark.root={cifar100_folders}"]
    prepared = prepare(name, tmp_path / "run", changes, [])
    first = {trial.method: index for index, trial in [*enumerate(prepared.plan.trials)][::-1]}
    for method in methods:
        end = execute_one(prepared, first[method])
        assert end.status == "done", (method, end.reason)
