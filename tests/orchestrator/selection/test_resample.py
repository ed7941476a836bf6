from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from trials import tabled, trial

from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectorFault
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    TASK_SETS,
    Measure,
    ScoreTable,
    TaskSet,
    TrialEnd,
    TrialHistory,
)
from fsl_sweep.orchestrator.report import RunInfo, build
from fsl_sweep.orchestrator.report.document.by_strategy import cells_of
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.selection.resample import ResampledCell, resample, resamples_for
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.selectors import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    Candidate,
    History,
    HyperparameterSelector,
    SnapshotSelector,
)
from fsl_sweep.orchestrator.selectors.best import BestConfiguration, BestSnapshot
from fsl_sweep.orchestrator.selectors.budgeted_oracle import BudgetedOracle
from fsl_sweep.orchestrator.statistics.bootstrap import summarised
from fsl_sweep.orchestrator.statistics.resampling import Resampling, may_be_higher

EPOCHS, TASKS = 5, 24


def noisy(method: str, configuration: str, seed: int, fold: int | None = None) -> TrialHistory:
    """A trial whose snapshots hardly differ, so that resamples choose differently."""
    key = [sum(map(ord, method)), int(configuration), seed, -1 if fold is None else fold]
    generator = np.random.default_rng([k + 1 for k in key])
    plain = trial(
        method,
        configuration,
        seed,
        base=[0.5] * EPOCHS,
        val=[0.5] * EPOCHS,
        novel=[0.5] * EPOCHS,
        loss=generator.random(EPOCHS).tolist(),
        fold=fold,
    )
    return tabled(plain, lambda _: generator.integers(20, 56, (EPOCHS, TASKS)) / 75)


def sweep(methods: Sequence[str] = ("PN",), folds: int = 0) -> list[TrialHistory]:
    return [
        noisy(method, configuration, seed, fold)
        for method in methods
        for configuration in ("1", "2", "3")
        for seed in (0, 1)
        for fold in [None, *range(folds)]
    ]


def cells(
    histories: list[TrialHistory], snapshot: list[str], hyperparameter: list[str], **options
) -> dict[str, ResampledCell]:
    selected = select(histories, snapshot, hyperparameter)
    found = resample(histories, selected, **{"resamples": 60, **options})
    return {f"{cell.method}: {cell.strategy}": cell for cell in found}


SNAPSHOT = ["last", "train_loss", "base", "val", "mixture(0.4)", "cv-epoch", "oracle"]
CONFIGURATION = ["base", "val", "mixture(0.4)", "cv", "cv(aligned)", "oracle", "budgeted-oracle(2)"]


def defined(
    given: list[TrialHistory], draws: Resampling, r: int, snapshot: str, name: str
) -> tuple[str, int, float]:
    """Trial, epoch and NovelGen of one seed's choice by definition, on tasks repeated by hand."""
    full = [one for one in given if one.fold is None]

    def mean(one: TrialHistory, measure: Measure, task_set: TaskSet = "selection") -> np.ndarray:
        fold = () if one.fold is None else (f"fold {one.fold}",)
        times = draws.weights((measure, task_set, *fold), TASKS)[r].astype(int)
        return np.repeat(one.scores[measure, task_set].load(), times, axis=1).mean(axis=1)

    def folds(full: TrialHistory) -> list[TrialHistory]:
        own = [one for one in given if one.configuration == full.configuration]
        return [one for one in own if one.fold is not None]

    def scores(name: str, one: TrialHistory) -> np.ndarray:
        found = {
            "last": lambda: one.epochs,
            "train_loss": lambda: -one.curves["train_loss"],
            "base": lambda: mean(one, "base"),
            "val": lambda: mean(one, "val"),
            "mixture(0.4)": lambda: 0.4 * mean(one, "base") + 0.6 * mean(one, "val"),
            "oracle": lambda: mean(one, "novel"),
            "cv-epoch": lambda: np.mean([mean(fold, "val") for fold in folds(one)], axis=0),
        }[name]()
        return np.round(found, 9)

    def score(one: TrialHistory, at: int) -> float:
        if name == "cv" and snapshot != "cv-epoch":
            return np.mean([scores("val", f)[scores(snapshot, f).argmax()] for f in folds(one)])
        return scores("cv-epoch" if name.startswith("cv") else name, one)[at]

    at = [int(scores(snapshot, one).argmax()) for one in full]
    if name == "budgeted-oracle(2)":
        val = [-scores("val", one)[i] for one, i in zip(full, at, strict=True)]
        left = [n in np.argsort(val, kind="stable")[:2] for n in range(len(full))]
        name = "oracle"
    else:
        left = [True] * len(full)
    found = [score(one, i) * on for one, i, on in zip(full, at, left, strict=True)]
    best = int(np.round(found, 9).argmax())
    one, i = full[best], at[best]
    return one.trial, int(one.epochs[i]), float(mean(one, "novel", "report")[i])


@pytest.mark.parametrize("at_once", [True, False])
def test_every_choice_is_that_of_its_definition(at_once: bool, monkeypatch) -> None:
    for kind in () if at_once else (BestSnapshot, BestConfiguration, BudgetedOracle):
        monkeypatch.setattr(kind, "choose_all", lambda self, scores: None)
    histories, draws = sweep(folds=2), Resampling(6)
    selected = select(histories, SNAPSHOT, [*CONFIGURATION, "pareto"])
    found = resample(histories, selected, resamples=6, one_by_one=6)
    assert len(found) == len(SNAPSHOT) * len(CONFIGURATION)
    changed = {cell.strategy: [] for cell in found}
    looks = {"oracle": 3, "budgeted-oracle(2)": 2}
    for seed, cell in product((0, 1), found):
        given = [one for one in histories if one.seed == seed]
        names = cell.strategy.snapshot, cell.strategy.hyperparameter
        choices = [defined(given, draws, r, *names) for r in range(7)]
        changed[cell.strategy] += [one[:2] != choices[0][:2] for one in choices[1:]]
        values = [attained for _, _, attained in choices]
        assert cell.values[seed] == pytest.approx(values, abs=1e-9), names
        one = selected.cell("PN", cell.strategy)[seed]
        assert (one.trial, one.epoch) == choices[0][:2]
        best = defined(given, draws, 0, "oracle", "oracle")[2]
        assert one.regret == pytest.approx(best - values[0], abs=1e-9)
        # An oracle looks at all of 5 epochs, of 6 folds too if it chooses in them.
        every = EPOCHS * (9 if names[1] == "cv" else 3)
        assert one.novel_evaluations == (every if names[0] == "oracle" else looks.get(names[1], 0))
        assert one.strategy.oracle == ("oracle" in str(one.strategy))
        assert one.strategy.cross_validated == ("cv" in str(one.strategy))
    assert {c.strategy: c.result.changed for c in found} == {
        strategy: pytest.approx(np.mean(own)) for strategy, own in changed.items()
    }


class ByTasks(SnapshotSelector):
    """``val``, as a third party might write it: from the tasks, one history at a time."""

    name: ClassVar[str] = "by-tasks"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def select(self, history: History) -> int:
        return int(history.epochs[np.round(history.tasks["val"].mean(axis=1), 10).argmax()])


class Cautious(HyperparameterSelector):
    """``base``, likewise."""

    name: ClassVar[str] = "cautious"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        return max(candidates, key=lambda one: round(float(one.tasks["base"].mean()), 10))


@pytest.fixture
def third_parties(monkeypatch: pytest.MonkeyPatch) -> None:
    for catalogue, parts in (
        (SNAPSHOT_SELECTORS, [ByTasks]),
        (HYPERPARAMETER_SELECTORS, [Cautious]),
    ):
        ours = {part.name: Info(part.name, part, "", "") for part in parts}
        monkeypatch.setattr(catalogue, "_own", {**catalogue._own, **ours})


def class_lists() -> dict:
    generator = np.random.default_rng(0)
    return {
        (m, s): np.stack([generator.permutation(8)[:3] for _ in range(TASKS)])
        for m in MEASURES
        for s in TASK_SETS
    }


@pytest.mark.usefixtures("third_parties")
@pytest.mark.parametrize("classes", [None, class_lists()])
def test_third_parties_selectors_run_on_each_resample(classes: dict | None) -> None:
    selectors = ["val", "by-tasks"], ["base", "cautious"]
    found = cells(sweep(), *selectors, one_by_one=25, classes=classes)
    reference = found["PN: val / base"]
    assert reference.values.shape == (2, 61)
    assert reference.weights.shape == (60, 2)
    for name in ("val / cautious", "by-tasks / base", "by-tasks / cautious"):
        cell = found[f"PN: {name}"]
        assert cell.values.shape == (2, 26)
        assert (cell.values == reference.values[:, :26]).all()
        assert (cell.weights == reference.weights[:25]).all()
        assert cell.result.resamples == 25
        assert cell.result.caution == "only 2 seeds"


class AtOnce(ByTasks):
    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        return self.answer(scores)


def best(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.round(scores["val"], 10).argmax(axis=1)


def every(answer: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> ResampledCell:
    """The cell of a selector that chooses at once, for the configuration of the best BaseGen."""
    monkeypatch.setattr(
        "fsl_sweep.orchestrator.selection.resample.snapshot_selector", lambda _: AtOnce(answer)
    )
    (cell,) = cells(sweep(), ["by-tasks"], ["base"], one_by_one=5).values()
    return cell


@pytest.mark.usefixtures("third_parties")
def test_a_third_party_may_choose_in_all_resamples_at_once(monkeypatch) -> None:
    reference = cells(sweep(), ["val"], ["base"])["PN: val / base"]
    assert (every(best, monkeypatch).values == reference.values).all()
    nothing = every(lambda scores: np.full_like(best(scores), -1), monkeypatch)
    assert np.isnan(nothing.values).all()


@pytest.mark.usefixtures("third_parties")
@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        (lambda scores: scores["novel"], SealedMeasurement, "'by-tasks' read 'novel'"),
        (lambda scores: scores["val"].setflags(write=True), SelectorFault, "WRITEABLE"),
        (lambda scores: best(scores)[1:], SelectorFault, "must return 61 integers from -1 to 4"),
        (lambda scores: best(scores) / 1, SelectorFault, "must return 61 integers"),
        (lambda scores: best(scores) + 9, SelectorFault, "must return 61 integers"),
        (lambda scores: best(scores) - 9, SelectorFault, "must return 61 integers"),
        (lambda scores: best(scores)[0, 0], SelectorFault, "raised IndexError"),
    ],
)
def test_what_chooses_at_once_is_sealed_and_checked(
    answer: Callable[[Any], Any], failure: type[Exception], message: str, monkeypatch
) -> None:
    with pytest.raises(failure, match=message):
        every(answer, monkeypatch)


def test_methods_share_the_draw_of_tasks_and_not_of_seeds() -> None:
    one = sweep(["PN"])
    twin = [replace(t, method="TWIN") for t in one]
    found = cells([*one, *twin], ["val"], ["val"])
    assert (found["PN: val / val"].values == found["TWIN: val / val"].values).all()
    assert (found["PN: val / val"].weights != found["TWIN: val / val"].weights).any()


def test_cells_with_something_missing_have_no_interval() -> None:
    histories = sweep(["PN", "RR"])
    histories[0] = replace(histories[0], end=TrialEnd("failed", "NaN"))
    assert set(cells(histories, ["val"], ["val"])) == {"RR: val / val"}


def test_all_nan_in_a_resample_is_no_choice() -> None:
    lost = noisy("PN", "1", 0)
    table = lost.scores["val", "selection"].load().copy()
    table[:, 0] = np.nan
    scores = {**lost.scores, ("val", "selection"): ScoreTable(np.full(5, 0.5), lambda: table)}
    (cell,) = cells([replace(lost, scores=scores)], ["val"], ["base"]).values()
    assert np.isnan(cell.values).all()
    assert cell.result.resamples == 0


def test_classes_are_resampled_where_they_are_known() -> None:
    (cell,) = cells(sweep(), ["val"], ["val"], classes=class_lists()).values()
    (plain,) = cells(sweep(), ["val"], ["val"]).values()
    assert (cell.result.over, plain.result.over) == ("classes", "tasks")
    assert cell.result.mean == plain.result.mean
    assert cell.result.standard_error > plain.result.standard_error


def test_snapshots_that_differ_only_by_rounding_are_equal_and_the_first_is_chosen() -> None:
    """Their means lie on half a decimal step, k / 2048, so that decimal rounding parts them."""
    mean = 1025 / 2048
    near = mean + np.arange(EPOCHS)[:, None] * 1e-12 + np.tile([-1, 1], TASKS // 2) / 2048
    assert np.round(near[0].mean(), 10) < np.round(near[1].mean(), 10)
    tied = []
    for one in sweep():
        tables = {**one.scores, ("val", "selection"): ScoreTable.from_accuracies(near)}
        tied.append(replace(one, scores=tables))
    (cell,) = cells(tied, ["val"], ["val"]).values()
    first = [t.scores["novel", "report"].load()[0].mean() for t in tied if t.configuration == "1"]
    assert cell.values[:, 0] == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize("metric", ["novel", "mixture(0.5)"])
@pytest.mark.parametrize("seeds", [2, 3])
def test_identical_replicates_are_not_a_sample_of_seeds(metric: str, seeds: int) -> None:
    """A method that trains nothing: no number claims that training again changes nothing."""
    own = [replace(one, seed=seed) for one in sweep()[::2] for seed in range(seeds)]
    given = [replace(one, trial=f"{one.trial}-{one.seed}") for one in own]
    info = RunInfo(
        "made", "0" * 16, None, ("val", "last"), ("val", "budgeted-oracle(1)"), metric=metric
    )
    report = build(info, given, bootstrap=50)
    plain = to_plain(report)
    shown = [one[key] for one in plain["summary"] for key in ("base", "val", "novel", "regret")]
    shown += [one["regret"] for one in plain["strategies"]["table"]]
    shown += [one["seeds"] for one in plain["mixture"]["summary"]] if plain["mixture"] else []
    shown += [one["regret"] for one in plain["budget_curve"]]
    assert {(one["low"], one["high"], one["n"]) for one in shown} == {(None, None, seeds)}
    assert sum("replicates are identical" in caution for caution in report.cautions) >= 1
    for one, cell in zip(report.summaries, report.resampled, strict=True):
        again = cell.result if metric == "novel" else cell.mixed
        tasks = one.reported_tasks
        assert again.low <= tasks.low + 1e-9
        assert again.high >= tasks.high - 1e-9
        assert "identical" in again.caution
        cells = cells_of(report, [one])
        assert cells["each seed" if seeds == 2 else "+- seeds"] == "-"


def levelled(configuration: int, seed: int, known: bool, read: list[int]) -> TrialHistory:
    """A trial that is better the higher its configuration and epoch are; the highest are equal."""
    generator = np.random.default_rng([configuration, seed])
    plain, hard = noisy("PN", str(configuration), seed), generator.normal(0, 0.05, 400)

    def table() -> ScoreTable:
        level = (
            0.6 + 0.02 * min(configuration, 9) + 0.04 * np.minimum(np.arange(EPOCHS), 3)[:, None]
        )
        right = generator.binomial(75, np.clip(level + hard, 0, 1)) / 75
        found = ScoreTable.from_accuracies(right)
        deviation = float(right.std(axis=1).max()) if known else None
        return replace(
            found, load=lambda: (read.append(configuration), right)[1], deviation=deviation
        )

    return replace(plain, scores={(m, s): table() for m in MEASURES for s in TASK_SETS})


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("names", "pruned"),
    [(("val", "val"), True), (("last", "val"), False), (("val", "base"), False)],
)
def test_a_single_strategy_has_the_same_resamples_as_among_others(known, names, pruned) -> None:
    read: list[int] = []
    trials = [levelled(c, seed, known, read) for seed in (0, 1) for c in range(12)]
    selected = select(trials, ["last", "val"], ["base", "val"])
    every = {str(cell.strategy): cell for cell in resample(trials, selected, resamples=300)}
    first, second = names
    read.clear()
    (cell,) = resample(trials, select(trials, [first], [second]), resamples=300)
    same = every[f"{first} / {second}"]
    np.testing.assert_array_equal(cell.values, same.values)
    assert cell.result == same.result
    assert cell.result.changed > 0
    # Of trials that cannot win in any resample, no task is read where their spread is known.
    assert (min(read) > 3) == (known and pruned)


def test_a_difference_that_may_turn_round_is_never_left_out(monkeypatch) -> None:
    """Of 20,000 resamples of skewed differences, a share turns round that the bound allows."""
    monkeypatch.setattr("fsl_sweep.orchestrator.statistics.resampling.NEVER", 0.01)
    generator = np.random.default_rng(0)
    for tasks, rare in ((50, 0.5), (200, 0.05), (1000, 0.01)):
        apart = np.where(generator.random(tasks) < rare, 0.9, -0.05) + generator.normal(
            0, 0.02, tasks
        )
        drawn = Resampling(20_000).weights(("x",), tasks)[1:] @ (apart - apart.mean()) / tasks
        gaps = np.linspace(0, 1, 1001)
        most = np.full(1001, (apart - apart.mean()).max())
        kept = may_be_higher(gaps, apart.var(), most, tasks)
        turned = 1 - np.searchsorted(np.sort(drawn), gaps) / len(drawn)
        assert turned[~kept].max() <= 0.01
        assert kept[0]


@pytest.mark.usefixtures("all_resamples")
def test_how_far_the_ends_of_an_interval_vary_by_the_number_of_resamples() -> None:
    """As ``resamples_for`` says; of normal means, for one seed, over 2,000 repetitions."""
    generator, half = np.random.default_rng(0), 1.96
    for snapshots, stated in ((3000, 0.043), (3001, 0.068), (60_000, 0.068)):
        count = resamples_for(snapshots)
        values = np.hstack([np.zeros((2000, 1)), generator.normal(size=(2000, count))])
        lows = [summarised(row[None], np.zeros((1, count + 1)), "tasks").low for row in values]
        assert np.std(lows) / half == pytest.approx(stated, rel=0.1)
        assert np.mean(lows) == pytest.approx(-half, rel=0.02)
