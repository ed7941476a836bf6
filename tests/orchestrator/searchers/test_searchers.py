"""Each searcher by the contract of all, and against what it is made of."""

import math
import subprocess
import sys

import numpy as np
import optuna
import pytest
from scipy.stats import kstest, qmc

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.searchers import Axis, Outcome
from fsl_sweep.orchestrator.searchers.catalogue import SEARCHERS
from fsl_sweep.orchestrator.searchers.optuna import Optuna
from fsl_sweep.orchestrator.searchers.random import Random
from fsl_sweep.orchestrator.searchers.sobol import Sobol
from fsl_sweep.orchestrator.sweepfile.axes import expand
from fsl_sweep.orchestrator.testing import SearcherContract
from fsl_sweep.orchestrator.testing.searcher import AXES

NUMBERS = {"a": Axis("uniform", [-1, 3]), "b": Axis("loguniform", [1e-3, 10.0])}


class TestRandom(SearcherContract):
    searcher = Random


class TestSobol(SearcherContract):
    searcher = Sobol


class TestOptuna(SearcherContract):
    searcher = Optuna


def test_ours_are_those_that_are_listed():
    assert {info.cls for info in SEARCHERS.own} == {Random, Sobol, Optuna}
    assert all(info.name == info.cls.name for info in SEARCHERS.own)


def test_random_search_is_what_samples_draws():
    tree = {"a": {"uniform": [-1, 3]}, "b": {"loguniform": [1e-3, 10.0]}}
    drawn = [axes for axes, _ in expand(tree, 300, 5)]
    first = Random().propose(NUMBERS, [], 120, 5)
    rest = Random().propose(NUMBERS, [Outcome(values, 0.0) for values in first], 180, 5)
    assert first + rest == drawn
    logs = [(math.log10(values["b"]) + 3) / 4 for values in drawn]
    for sample in (logs, [(values["a"] + 1) / 4 for values in drawn]):
        assert kstest(sample, "uniform").pvalue > 0.01
    assert Random().propose(NUMBERS, [], 120, 6) != first


def test_sobol_points_are_those_of_scipy():
    engine = qmc.Sobol(2, scramble=True, rng=np.random.default_rng(5))
    points = engine.random(64)
    proposed = Sobol().propose(NUMBERS, [], 48, 5)
    proposed += Sobol().propose(NUMBERS, [Outcome(values, None) for values in proposed], 16, 5)
    ours = [[(v["a"] + 1) / 4, (math.log10(v["b"]) + 3) / 4] for v in proposed]
    np.testing.assert_allclose(ours, points, rtol=0, atol=1e-12)
    # In each of 16 boxes as many, which draws at random hardly ever do.
    boxes = np.floor(np.array(ours) * 4).astype(int)
    assert {*np.unique(boxes @ [4, 1], return_counts=True)[1]} == {4}


def test_optuna_is_asked_as_a_study_made_by_hand():
    history = [
        Outcome({"a": -1 + n / 5, "b": 1e-3 * 1.5**n, "c": "x" if n % 2 else "y"}, score)
        for n, score in enumerate([0.1, 0.2, None, 0.4, 0.9, 0.8, 0.3, None, 0.2, 0.1, 0.5, 0.6])
    ]
    axes = {**NUMBERS, "c": Axis("choice", ["x", "y"])}
    floats, state = optuna.distributions.FloatDistribution, optuna.trial.TrialState
    distributions = {
        "a": floats(-1, 3),
        "b": floats(1e-3, 10, log=True),
        "c": optuna.distributions.CategoricalDistribution([0, 1]),
    }
    seed = int(np.random.SeedSequence([3, 12]).generate_state(1)[0])
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for outcome in history:
        params = {**outcome.values, "c": ["x", "y"].index(outcome.values["c"])}
        told = {"state": state.PRUNED} if outcome.score is None else {"value": outcome.score}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=distributions, **told)
        )
    asked = [study.ask(distributions).params for _ in range(6)]
    expected = [{**params, "c": ["x", "y"][params["c"]]} for params in asked]
    assert Optuna().propose(axes, history, 6, 3) == expected


def test_optuna_learns():
    """Its proposals crowd about the best learning rate; those at random do not."""
    axes = {"lr": Axis("loguniform", [1e-5, 1.0])}

    def distance(searcher):
        history = []
        for _ in range(6):
            for values in searcher.propose(axes, history[:], 8, 0):
                history.append(Outcome(values, -abs(math.log10(values["lr"]) + 2)))
        return np.mean([-outcome.score for outcome in history[-16:]])

    assert distance(Optuna()) < 0.5 * distance(Random())


def test_a_round_is_not_the_round_before(monkeypatch):
    """Even while Optuna draws at random, where it would repeat its seed."""
    first = Optuna().propose(AXES, [], 4, 0)
    asked = []
    real = optuna.Study.ask
    monkeypatch.setattr(optuna.Study, "ask", lambda *a: asked.append(1) or real(*a))
    Optuna().propose(AXES, [Outcome(values, 0.5) for values in first], 4, 0)
    assert len(asked) == 4


def test_without_optuna_one_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'fsl-sweep\[search\]'"):
        Optuna().propose(AXES, [], 1, 0)


def test_optuna_says_nothing_and_leaves_its_verbosity(capfd):
    before = optuna.logging.get_verbosity()
    Optuna().propose(AXES, [], 2, 0)
    assert optuna.logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")


def test_the_table_of_searchers_imports_no_optuna():
    code = (
        "import sys, fsl_sweep.orchestrator.run, fsl_sweep.orchestrator.searchers.catalogue;"
        "sys.exit('optuna' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
