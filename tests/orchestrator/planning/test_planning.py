"""What planning costs, and that what makes it cheap changes nothing that is planned."""

import pytest
from installed import distribution
from planning_of import mistake, planned

from fsl_sweep.orchestrator import catalogue
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning import plan_sweep
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.spec import configurations_of

FOLDED = """
name: folded
benchmark: {name: glyphs, image_size: 20}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 60, report_tasks: 40, every: 2}
defaults:
  backbone: {name: conv4, width: 32}
  schedule: {relative: true, 4: 0.1}
  epochs: 6
  batches: 10
methods:
  SB:
    learner: {name: supervised, scale: {grid: [5, 10]}}
    optimizer: {lr: 0.1, weight_decay: 1.0e-4}
  A: {learner: {name: logistic}, optimizer: {name: adam, lr: 0.001, clip_norm: 2.0}}
seeds: [0, 7]
cross_validation: {folds: 2, over: base+val, seed: 3}
budget: {seconds: 60}
"""


def values(count):
    return f"{{grid: {list(range(1, count + 1))}}}"


def test_entry_points_are_not_scanned_again_for_each_trial(tmp_path, monkeypatch):
    scans = []
    real = catalogue.entry_points

    def counted(**group):
        scans.append(group["group"])
        return real(**group)

    monkeypatch.setattr(catalogue, "entry_points", counted)
    monkeypatch.syspath_prepend(tmp_path / "another place, where nobody has looked yet")
    planned(f"M.learner.scale={values(20)}")
    assert scans
    assert len(scans) == len(set(scans))


def test_a_part_that_is_kept_from_one_configuration_is_not_taken_for_another():
    """Three methods, of which two vary their learner, and one what its learner trains on."""
    plan = planned(
        "M.train.way={grid: [2, 3, 4, 5]}",
        "methods.N={learner: {name: protonet, scale: {grid: [1, 2, 3, 4]}}}",
        "methods.R={learner: {name: {grid: [ridge, protonet]}}, batches: {grid: [1, 2]}}",
        "seeds=[0, 1, 2]",
    )
    assert len(plan.trials) == 3 * 4 * 3
    specs = [trial.spec for trial in plan.trials[::3]]
    assert [spec.train.way for spec in specs[:4]] == [2, 3, 4, 5]
    assert [spec.learner.options["scale"] for spec in specs[:8]] == [10.0] * 4 + [1, 2, 3, 4]
    names = [(spec.learner.name, spec.batches) for spec in specs[8:]]
    assert names == [(name, batches) for batches in (1, 2) for name in ("ridge", "protonet")]


def test_a_package_that_comes_onto_the_path_is_found(tmp_path, monkeypatch):
    assert "late" not in [point.name for point in catalogue.installed("fsl_sweep.learners")]
    distribution(tmp_path, "late", "1.0", "[fsl_sweep.learners]\nlate = late:INFO\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "late" in [point.name for point in catalogue.installed("fsl_sweep.learners")]


def test_the_ids_are_those_that_they_were():
    """Those that all versions before gave them, which are read still."""
    trials = [trial.formerly for trial in planned(text=FOLDED).trials]
    ids = "2fa307bf22183eb7 528aa6eb07ebf02a 64a2989b756cf4d3 ff402ddb561f3cf1"
    assert [trial.id for trial in trials[::5]] == ids.split()
    configurations = "9a0b0370c3fa91a2 2172de470c047a07 9621c32286c2c6ee"
    former = [[*configurations_of(trial.spec.canonical())][1] for trial in trials[::6]]
    assert former == configurations.split()
    assert digest([trial.id for trial in trials]) == "05cf49b640e71b51"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            [f"M.learner.scale={values(1000)}", f"M.train.query={values(1000)}"],
            "learner.scale: 1,000 x train.query: 1,000 x samples: 2 x seeds: 3 makes 6,000,000 "
            "trials; a sweep has at most 1,000,000. Leave out values, or draw some of the "
            "combinations: write 'choice' in place of 'grid', and how many to draw as 'samples'",
        ),
        (
            ["samples=200000", f"M.learner.scale={values(2)}", "cross_validation={folds: 4}"],
            "learner.scale: 2 x samples: 200,000 x seeds: 3 x full trial and class folds: 5 makes ",
        ),
    ],
)
def test_a_grid_that_nobody_can_mean_is_refused_before_it_is_made(changes, problem):
    drawn = ["M.optimizer.lr={loguniform: [0.001, 0.1]}", "samples=2", "seeds=[0, 1, 2]"]
    assert mistake(planned, *drawn, *changes).startswith(f"methods.M: {problem}")


def test_the_most_that_is_allowed_is_planned(monkeypatch):
    monkeypatch.setattr(plan_sweep, "MOST_TRIALS", 4)
    other = "methods.RR={learner: {name: ridge}}"
    assert len(planned(other, f"M.learner.scale={values(3)}").trials) == 4
    with pytest.raises(ConfigError, match="at most 4"):
        planned(other, f"M.learner.scale={values(4)}")


def test_class_folds_of_some_methods():
    """The others have their full trials only, and the ids of all trials stay as they are."""
    two = "methods.N={learner: {name: ridge}, train: {way: 3, shot: 1, query: 2}}"
    folds = "cross_validation={folds: 2, over: base+val}"
    every = planned(two, folds)
    some = planned(two, folds.replace("}", ", methods: [N]}"))
    kept = [trial for trial in every.trials if trial.method == "N" or trial.fold is None]
    assert some.trials == tuple(kept)
    assert [(trial.method, trial.fold) for trial in some.trials] == [
        ("M", None),
        *(("N", fold) for fold in (None, 0, 1)),
    ]
    said = mistake(planned, folds.replace("}", ", methods: [M, m]}"))
    assert said.startswith("cross_validation.methods.1: unknown method 'm'")
