"""In which order a run does what it does: with trials run in this process, in place of Ray."""

import pytest

from fsl_sweep.orchestrator import report
from fsl_sweep.orchestrator.cli import invoke, running
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.trial import Trial

SWEEP = """
name: tiny
benchmark:
  {name: glyphs, base_alphabets: 2, val_alphabets: 1, novel_alphabets: 1, classes_per_alphabet: 5,
   examples: 12, image_size: 16}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 50, report_tasks: 40}
defaults:
  backbone: {name: conv4, width: 8}
  optimizer: {name: sgd, lr: 0.1}
  epochs: 2
  batches: 2
methods:
  PN:
    learner: {name: protonet}
    train: {way: 3, shot: 1, query: 2, tasks_per_batch: 1}
"""


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
                for record in Trial(spec, Ledger(job.run).trial(trial), benchmark).run():
                    for listener in listeners:
                        listener.measured(trial, record)
            steps.append("trials")

    prepared, real_open, real_build = [], running._open, report.build

    def opened(one):
        prepared.append(one)
        steps.append("data")
        return real_open(one)

    def built(*arguments, **options):
        steps.append("report")
        return real_build(*arguments, **options)

    monkeypatch.setattr(running, "RayProcess", InProcess)
    monkeypatch.setattr(running, "_open", opened)
    monkeypatch.setattr(report, "build", built)
    (tmp_path / "s.yaml").write_text(SWEEP)
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
