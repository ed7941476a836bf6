"""A trial that diverged is a candidate that loses; nothing else is changed by it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.report import RunInfo, build
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.selection.comparing.base_and_novel import compare_base_and_novel
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    compare_methods,
    compare_over_seeds,
)
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    BenchmarkEvidence,
    compare_over_benchmarks,
)
from fsl_sweep.orchestrator.selection.comparing.power import plan_next
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.comparing.strategies import compare_strategies
from fsl_sweep.orchestrator.selection.completeness import completeness_of
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select

DIVERGED = TrialEnd("diverged", "the training loss became nan in epoch 3")
MEASURES = ("base", "val", "novel")
BLIND, READING = ("last",), ("train_loss", "base", "val", "mixture(0.3)", "oracle")
CONFIGURATIONS = (
    *("base", "val", "oracle", "budgeted-oracle(1)"),
    *("budgeted-oracle(2, halving)", "budgeted-oracle(2, per-configuration)"),
)
CROSSED = ("cv", "cv(aligned)")


def made(method, configuration, seed, rng, epochs=5, fold=None, lead=0.0, end=None):
    """A trial with random scores; without epochs and with an end, one that gave no snapshot."""
    columns = {m: rng.uniform(0.3, 0.6, epochs) + lead for m in MEASURES}
    options = {"loss": rng.uniform(0.5, 2, epochs), "fold": fold}
    return trial(method, configuration, seed, **columns, **options, **({"end": end} if end else {}))


def grid(seed=0, folds=(None, 0, 1)):
    """Two methods, three configurations, three seeds, with class folds."""
    rng = np.random.default_rng(seed)
    cells = product(("PN", "RR"), ("0.1", "0.2", "0.3"), (0, 1, 2), folds)
    return [made(m, c, s, rng, fold=f, lead=0.1 * (m == "RR")) for m, c, s, f in cells]


def numbers(histories, snapshot=(*BLIND, *READING, "cv-epoch"), hyperparameter=CONFIGURATIONS):
    """All numbers of a report in JSON: without its counts of trials, and its sentences."""
    configuration = (*hyperparameter, *CROSSED, "pareto")
    info = RunInfo("made", "abcdef", "f00d", snapshot, configuration)
    plain = to_plain(build(info, histories, last=2, bootstrap=30))
    assert plain["run"]["complete"]
    for key in ("planned", "diverged", "divergence"):
        plain["run"].pop(key)
    plain["answer"].pop("sentences")
    return plain


@pytest.mark.parametrize("place", [0, 7, None])
def test_a_value_that_never_gave_a_snapshot_changes_no_number(place):
    """Wherever it is in the grid, with its class folds."""
    whole = grid()
    rng = np.random.default_rng(0)
    lost = [
        made(method, "1e+30", seed, rng, epochs=0, fold=fold, end=DIVERGED)
        for method, seed, fold in product(("PN", "RR"), (0, 1, 2), (None, 0, 1))
    ]
    at = len(whole) if place is None else place
    assert numbers([*whole[:at], *lost, *whole[at:]]) == numbers(whole)


def by_strategy(plain, names, kinds=("selections", "summary", "overtuning", "comparisons")):
    """What a report says under strategies with these snapshot selectors."""
    return {kind: [x for x in plain[kind] if x["snapshot_selector"] in names] for kind in kinds}


def test_a_value_that_diverged_later_has_its_snapshots_and_no_end():
    """Where scores choose it is as one that ended there, and elsewhere as one that is not there."""
    whole = grid(folds=(None,))
    loses = {index for index, t in enumerate(whole) if t.configuration == "0.1"}
    early = {index: _cut(t, 1 + index % 3) for index, t in enumerate(whole) if index in loses}
    ended = [early.get(index, t) for index, t in enumerate(whole)]
    lost = [replace(t, end=DIVERGED) if i in loses else t for i, t in enumerate(ended)]
    without = [t for index, t in enumerate(whole) if index not in loses]
    info = RunInfo("made", "abcdef", "f00d", (*BLIND, *READING), (*CONFIGURATIONS, "pareto"))
    there, as_ended, not_there = (
        to_plain(build(info, histories, bootstrap=30)) for histories in (lost, ended, without)
    )
    assert by_strategy(there, READING) == by_strategy(as_ended, READING)
    assert by_strategy(as_ended, READING)["summary"] != by_strategy(not_there, READING)["summary"]
    ours, theirs = (by_strategy(plain, BLIND) for plain in (there, not_there))
    for kind, rows in ours.items():  # regret is against the oracle, which may choose its snapshots
        for row, other in zip(rows, theirs[kind], strict=True):
            assert {**row, "regret": 0} == {**other, "regret": 0}
    assert [front for front in there["fronts"] if front["snapshot_selector"] == "last"] == [
        front for front in not_there["fronts"] if front["snapshot_selector"] == "last"
    ]


def _cut(history, epochs):
    """The first epochs of a trial."""
    tables = {
        key: replace(t, means=t.means[:epochs], load=lambda t=t: t.load()[:epochs])
        for key, t in history.scores.items()
    }
    curves = {name: values[:epochs] for name, values in history.curves.items()}
    return replace(history, epochs=history.epochs[:epochs], curves=curves, scores=tables)


@pytest.mark.parametrize("fold", [None, 1])
def test_with_class_folds_a_configuration_loses_that_diverged_in_any(fold):
    """As if it were not there, for strategies that read class folds, and for no others."""
    whole = grid()
    lost = [
        replace(t, end=DIVERGED) if (t.configuration, t.fold) == ("0.2", fold) else t for t in whole
    ]
    without = [t for t in whole if t.configuration != "0.2"]
    selectors = ("val", "cv-epoch"), ("val", *CROSSED)
    there, not_there, unharmed = (select(h, *selectors) for h in (lost, without, whole))
    drawn = [
        {(cell.method, cell.strategy): cell.values for cell in resample(h, s, resamples=5)}
        for h, s in ((lost, there), (without, not_there), (whole, unharmed))
    ]
    for method, strategy in product(there.methods, there.strategies):
        like = 1 if strategy.cross_validated else 2
        cells = [picked(s, method, strategy) for s in (there, not_there, unharmed)]
        assert cells[0] == cells[like]
        ours, theirs = drawn[0][method, strategy], drawn[like][method, strategy]
        np.testing.assert_array_equal(ours, theirs)
    assert not there.left_out


def picked(selected, method, strategy):
    return [(choice.trial, choice.epoch) for choice in selected.cell(method, strategy)]


@pytest.mark.parametrize("draw", range(25))
def test_choices_are_those_of_a_search_by_hand(draw):
    """Among trials that diverge at any epoch; a seed is lost where no candidate is left."""
    rng = np.random.default_rng(draw)
    trials = []
    for configuration, seed in product(("0.1", "0.2"), range(4)):
        diverged = rng.random() < 0.6
        epochs = int(rng.integers(0, 3)) if diverged else 3
        end = DIVERGED if diverged else None
        trials.append(made("PN", configuration, seed, rng, epochs=epochs, end=end))
    selected = select(trials, ["last", "val", "oracle"], ["val", "oracle"])
    drawn = {cell.strategy: cell for cell in resample(trials, selected, resamples=2)}
    for strategy in selected.strategies:
        expected = {seed: by_hand(trials, seed, strategy) for seed in range(4)}
        cell = selected.cell("PN", strategy)
        assert {c.seed: (c.trial, c.epoch) for c in cell} == {
            s: e for s, e in expected.items() if e
        }
        lost = tuple(seed for seed, choice in expected.items() if choice is None)
        assert selected.diverged.get(("PN", strategy), ()) == lost
        if cell:
            assert drawn[strategy].seeds == tuple(choice.seed for choice in cell)
            novel = [choice.means["novel"] for choice in cell]
            np.testing.assert_allclose(drawn[strategy].values[:, 0], novel, atol=1e-12)
    assert not selected.left_out


def by_hand(trials, seed, strategy):
    """The trial and epoch that a strategy chooses of a seed, read from its definition."""
    best = []
    for t in (t for t in trials if t.seed == seed):
        scores = {
            name: t.scores[m, "selection"].means for name, m in (("val",) * 2, ("oracle", "novel"))
        }
        if strategy.snapshot == "last":
            if t.end.status == "diverged":
                continue
            at = len(t.epochs) - 1
        elif len(t.epochs):
            at = int(np.argmax(scores[strategy.snapshot]))
        else:
            continue
        best.append((scores[strategy.hyperparameter][at], t.trial, int(t.epochs[at])))
    return max(best)[1:] if best else None


REASON = "PN diverged in 1 of 4 seeds, and only its other seeds are compared"
AHEAD, BEHIND = 0.2, -0.2


@pytest.mark.parametrize(
    ("lead", "rope", "verdict"),
    [(AHEAD, 0, "undecided"), (BEHIND, 0, "worse"), (0, 0.2, "undecided")],
)
@pytest.mark.parametrize("order", [("PN", "RR"), ("RR", "PN")])
def test_a_difference_in_favour_of_a_method_that_lost_a_seed_decides_nothing(
    order, lead, rope, verdict
):
    """One against it does: its other seeds flatter it, and it is worse all the same."""
    trials, lost = (
        sorted(lumps(one, lead), key=lambda t: order.index(t.method)) for one in (False, True)
    )
    results = []
    for histories in (trials, lost):
        selected = select(histories, ["val"], ["val"])
        cells = resample(histories, selected, resamples=50)
        (pair,) = compare_over_seeds(summarise(selected), cells, rope)
        results.append(pair.result if pair.a == "PN" else pair.result.swapped())
    whole, result = results
    assert whole.verdict == ("equivalent" if rope else "better" if lead > 0 else "worse")
    assert result.verdict == verdict
    assert (REASON in (result.caution or "")) is (verdict == "undecided")
    assert result.seeds == ((3, 4) if order == ("PN", "RR") else (4, 3))


def lumps(lost, lead=AHEAD, seeds=4):
    """Two methods so far apart that everything is decided; PN may have lost its last seed."""
    rng = np.random.default_rng(0)
    trials = []
    for method, seed in product(("PN", "RR"), range(seeds)):
        columns = {m: 0.5 + lead * (method == "PN") + rng.normal(0, 0.005, 2) for m in MEASURES}
        trials.append(trial(method, "x", seed, **columns))
    if lost:
        trials[seeds - 1] = made("PN", "x", seeds - 1, rng, epochs=0, end=DIVERGED)
    return trials


def claims(trials):
    """Every verdict between the two methods, of whatever kind."""
    selected = select(trials, ["val"], ["val"])
    summaries, cells = summarise(selected), resample(trials, selected, resamples=50)
    (strategy,) = selected.strategies
    evidence = BenchmarkEvidence(trials, selected, summaries)
    over = compare_over_benchmarks({f"b{n}": evidence for n in range(3)}, strategy)
    (both,) = compare_base_and_novel(trials, selected)
    (stability,) = stability_of(summaries, cells)
    return {
        "snapshots": compare_methods(summaries)[0].result.verdict,
        "methods": compare_over_seeds(summaries, cells)[0].result.verdict,
        "over benchmarks": over.differences[0].result.caution,
        "in both, snapshots": both.snapshots.verdict,
        "in both, methods": both.methods.verdict,
        "chance to be best": [m.probability_best is not None for m in stability.methods],
        "planned": len(plan_next(trials, selected, 0.01, resampled=cells)),
    }


def test_nothing_is_claimed_in_favour_of_a_method_that_lost_a_seed():
    whole = dict.fromkeys(("snapshots", "methods", "in both, snapshots", "in both, methods"))
    ahead, behind = claims(lumps(False)), claims(lumps(True, BEHIND))
    assert [ahead[kind] for kind in whole] == ["better"] * 4
    assert [behind[kind] for kind in whole] == ["worse"] * 4
    assert ahead["planned"] == behind["planned"] == 1
    assert ahead["over benchmarks"] == behind["over benchmarks"] == "all differences are equal"
    lost = claims(lumps(True))
    assert [lost[kind] for kind in whole] == ["undecided"] * 4
    assert lost["over benchmarks"] == (
        "PN diverged in 1 of 4 seeds of b0, PN diverged in 1 of 4 seeds of b1, PN diverged in 1 of "
        "4 seeds of b2, and only its other seeds are compared"
    )
    assert (ahead["chance to be best"], lost["chance to be best"]) == ([True] * 2, [False] * 2)
    assert lost["planned"] == 0


def test_a_strategy_that_lost_a_seed_is_not_averaged_with_those_that_kept_it():
    trials = lumps(False)
    trials[3] = replace(trials[3], end=DIVERGED)
    selected = select(trials, ["last", "val", "oracle"], ["val"])
    compared = compare_strategies(trials, selected, summarise(selected))
    assert [str(strategy) for strategy, _ in compared.lacking] == ["last / val"]
    assert [str(result.strategy) for result in compared.results] == ["val / val", "oracle / val"]
    evidence = {f"b{n}": BenchmarkEvidence(trials, selected, summarise(selected)) for n in range(3)}
    over = compare_over_benchmarks(evidence, selected.strategies[1])
    assert over.lacking == ("last / val",)


def test_it_is_an_outcome_and_others_stay_missing():
    rng = np.random.default_rng(0)
    ends = [None, DIVERGED, TrialEnd("failed", "out of memory"), DIVERGED]
    trials = [made("PN", str(n), 0, rng, epochs=n % 2, end=end) for n, end in enumerate(ends)]
    trials[0] = made("PN", "0", 0, rng)
    counts = completeness_of([*trials, replace(trials[1], trial="torn", damaged=("end.json",))], 0)
    assert (counts.planned, counts.done, counts.diverged, counts.failed) == (5, 1, 2, 1)
    assert (counts.missing, counts.trained) == (1, False)
    whole = completeness_of([trials[0], trials[1], trials[3]], 0)
    assert whole.complete
    assert whole.named("PN") == "PN (2 of 3 diverged)"


@pytest.mark.parametrize("seeds", [3, 5])
def test_where_nothing_differs_a_lost_seed_seldom_decides(seeds) -> None:
    """The worst seed of one method diverges, which flatters it."""
    rng, wrong, against = np.random.default_rng(11), [], 0
    for _ in range(400):
        scores = rng.normal(0.6, 0.02, (2, seeds))
        lost = int(scores[0].argmin())
        trials = [
            trial(name, "x", seed, base=[0.5], val=[0.5], novel=[score])
            for name, row in zip("AB", scores, strict=True)
            for seed, score in enumerate(row)
        ]
        trials[lost] = trial("A", "x", lost, base=[], val=[], novel=[], end=DIVERGED)
        selected = select(trials, ["last"], ["val"])
        (pair,) = compare_over_seeds(summarise(selected), resample(trials, selected, resamples=10))
        wrong.append(pair.result.verdict != "undecided")
        against += pair.result.p_value < 0.05 and pair.result.effect.mean > 0
    assert np.mean(wrong) <= 0.06
    assert against > 0
