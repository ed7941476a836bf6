"""What planning costs, and that what makes it cheap changes nothing that is planned."""

import pytest
from installed import distribution
from planning_of import mistake, planned, replaced

from fsl_sweep.orchestrator import catalogue
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning import plan_sweep as resolve
from fsl_sweep.orchestrator.records.model import digest

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
GRID = """
name: wide
benchmark: {name: glyphs}
defaults: {backbone: {name: conv4}, optimizer: {lr: LR}}
methods:
  PN: {learner: {name: protonet, scale: SCALE}, train: {query: QUERY}}
  RR: {learner: {name: ridge}}
MORE
"""


def grid(lr="0.1", scale="10", query="15", more=""):
    return replaced(GRID, LR=lr, SCALE=scale, QUERY=query, MORE=more)


def values(count, start=1):
    return f"{{grid: {list(range(start, start + count))}}}"


def test_entry_points_are_not_scanned_again_for_each_trial(tmp_path, monkeypatch):
    scans = []
    real = catalogue.entry_points

    def counted(**group):
        scans.append(group["group"])
        return real(**group)

    monkeypatch.setattr(catalogue, "entry_points", counted)
    monkeypatch.syspath_prepend(tmp_path / "another place, where nobody has looked yet")
    planned(grid(scale=values(20)))
    assert scans
    assert len(scans) == len(set(scans))


def test_a_package_that_comes_onto_the_path_is_found(tmp_path, monkeypatch):
    assert "late" not in [point.name for point in catalogue.installed("fsl_sweep.learners")]
    distribution(tmp_path, "late", "1.0", "[fsl_sweep.learners]\nlate = late:INFO\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "late" in [point.name for point in catalogue.installed("fsl_sweep.learners")]


def test_the_ids_are_those_that_they_were():
    trials = planned(FOLDED).trials
    assert [trial.id for trial in trials[::5]] == [
        "2fa307bf22183eb7",
        "528aa6eb07ebf02a",
        "64a2989b756cf4d3",
        "ff402ddb561f3cf1",
    ]
    assert [trial.configuration for trial in trials[::6]] == [
        "9a0b0370c3fa91a2",
        "2172de470c047a07",
        "9621c32286c2c6ee",
    ]
    assert digest([trial.id for trial in trials]) == "05cf49b640e71b51"


def test_a_grid_that_nobody_can_mean_is_refused_before_it_is_made():
    text = grid("{grid: [0.1, 0.2]}", values(1000), values(1000), "seeds: [0, 1, 2]")
    assert mistake(planned, text) == (
        "methods.PN: optimizer.lr: 2 x learner.scale: 1,000 x train.query: 1,000 x "
        "seeds: 3 makes 6,000,000 trials; a sweep has at most 1,000,000. Leave "
        "out values, or draw some of the combinations: write 'choice' in "
        "place of 'grid', and how many to draw as 'samples'"
    )


def test_draws_seeds_and_folds_count_too():
    drawn = "{loguniform: [0.001, 0.1]}"
    more = "samples: 200000\nseeds: [0, 1]\ncross_validation: {folds: 4}"
    told = "learner.scale: 2 x samples: 200,000 x seeds: 2 x full trial and class folds: 5 makes "
    said = mistake(planned, grid(drawn, "{grid: [1, 2]}", more=more))
    assert said.startswith(f"methods.PN: {told}4,000,000 trials")


def test_the_most_that_is_allowed_is_planned(monkeypatch):
    monkeypatch.setattr(resolve, "MOST_TRIALS", 4)
    assert len(planned(grid(scale=values(3))).trials) == 4
    with pytest.raises(ConfigError, match="at most 4"):
        planned(grid(scale=values(4)))
