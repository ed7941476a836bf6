"""In which order a run does what it does: with trials run in this process, in place of Ray."""

import pytest
import yaml
from commands import TINY

import fsl_sweep
from fsl_sweep.orchestrator import report
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.trial.trial import Trial

ONE = TINY.replace("{grid: [1, 2]}", "1").replace("seeds: [0, 1]", "seeds: [0]")
ONE = ONE.replace("  RR: {learner: {name: ridge}}\n", "")


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """What a run did, in order."""
    steps = []

    class InProcess:
        def __init__(self, address, trials):
            steps.append("Ray starts")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.stop()

        def stop(self):
            if "Ray ends" not in steps:
                steps.append("Ray ends")

        def run(self, job, listeners):
            benchmark = real_open(prepared[0])
            for trial, spec in job.specs.items():
                for listener in listeners:
                    listener.started(trial)
                for record in Trial(spec, Ledger(job.run).trial(trial), benchmark).run():
                    for listener in listeners:
                        listener.measured(trial, record)
            steps.append("trials")

    prepared, real_open, real_build = [], Prepared.benchmark, report.build

    def opened(one):
        prepared.append(one)
        steps.append("data")
        return real_open(one)

    def built(*arguments, **options):
        steps.append("report")
        return real_build(*arguments, **options)

    monkeypatch.setattr(execute, "RayProcess", InProcess)
    monkeypatch.setattr(Prepared, "benchmark", opened)
    monkeypatch.setattr(report, "build", built)
    (tmp_path / "s.yaml").write_text(ONE)
    monkeypatch.chdir(tmp_path)
    return steps


def test_ray_starts_while_the_data_is_opened_and_the_report_is_built_once(steps, capsys):
    assert invoke(["run", "s.yaml"]) == 0
    assert steps == ["Ray starts", "data", "trials", "Ray ends", "report"]
    first = capsys.readouterr().out
    steps.clear()
    assert invoke(["run", "s.yaml"]) == 0
    assert steps == ["data", "report"]
    assert capsys.readouterr().out == first


def test_ray_does_not_outlive_a_mistake_that_is_found_later(steps):
    assert invoke(["run", "s.yaml", "--set", "episode.way=5000"]) == 2
    assert steps == ["Ray starts", "data", "Ray ends"]


class Heard:
    def __init__(self):
        self.epochs = []

    def started(self, trial):
        self.epochs.append(0)

    def measured(self, trial, record):
        self.epochs.append(record.epoch)


def test_a_sweep_runs_from_python_as_it_does_from_the_command_line(steps, tmp_path, capsys):
    assert invoke(["run", "s.yaml"]) == 0
    by_command = to_json(fsl_sweep.load_run("runs/tiny").report())
    capsys.readouterr()
    steps.clear()
    heard, content = Heard(), yaml.safe_load(ONE)
    run = fsl_sweep.run_sweep(content, tmp_path / "run", listeners=[heard])
    assert steps == ["Ray starts", "data", "trials", "Ray ends"]
    assert heard.epochs == [0, 1, 2, 3]
    assert to_json(run.report()) == by_command
    assert run.path == tmp_path / "run"
    # Nothing is left to run; then a changed sweep leaves a trial out, and says so.
    steps.clear()
    fsl_sweep.run_sweep(tmp_path / "s.yaml", tmp_path / "run")
    assert steps == ["data"]
    with pytest.warns(UserWarning, match="1 trial is no longer planned"):
        fsl_sweep.run_sweep("s.yaml", tmp_path / "run", overrides=["seeds=[1]"])
    with pytest.raises(ConfigError, match="unknown method 'RR'"):
        fsl_sweep.run_sweep(content, only=["RR"])
    with pytest.raises(ConfigError, match="sweep: not plain data"):
        fsl_sweep.run_sweep({**content, "seeds": {0, object()}})
    assert capsys.readouterr() == ("", "")
