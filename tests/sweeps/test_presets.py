"""Every preset plans anywhere, says what it costs, and says which data it lacks."""

import re

import pytest
from places import ROOT

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep, presets

WITHOUT_COSTS = {"omniglot", "quickstart", "writers"}


@pytest.mark.parametrize("name", presets())
def test_a_dry_run_plans_and_says_what_is_missing(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    prepared = prepare(name, None, [], [])
    plan = prepared.plan
    assert len({trial.spec.seed for trial in plan.trials}) > 1  # replicates
    assert plan.name == name
    code = show_plan(prepared)
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
    if name not in WITHOUT_COSTS:
        steps = re.search(r"to train: (.*)", shown.out)
        assert steps
        text = (ROOT / "sweeps" / f"{name}.yaml").read_text().replace("\n#", "\n")
        assert f"Cost: {len(plan.specs)} trials, {steps[1]}" in " ".join(text.split())


@pytest.mark.parametrize("name", presets())
def test_a_trials_id_is_the_hash_of_its_own_specification(name):
    plan = plan_sweep(load_sweep(name, ["cross_validation={folds: 2}", "seeds=[0, 5]"]))
    for trial in plan.trials:
        assert trial.id == digest(trial.spec.canonical())
        assert trial.configuration == trial.spec.configuration
        assert TrialSpec.from_canonical(trial.spec.canonical()) == trial.spec
    assert {(trial.spec.seed, trial.fold) for trial in plan.trials} == {
        (seed, fold) for seed in (0, 5) for fold in (None, 0, 1)
    }
