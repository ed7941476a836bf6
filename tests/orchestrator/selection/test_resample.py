from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectorFault
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    TASK_SETS,
    ScoreTable,
    TrialEnd,
    TrialHistory,
)
from fsl_sweep.orchestrator.report import RunInfo, build
from fsl_sweep.orchestrator.report.document.by_strategy import cells_of
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.selection.resample import ResampledCell, resample
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
from fsl_sweep.orchestrator.selectors.hyperparameter.budgeted_oracle import BudgetedOracle
from fsl_sweep.orchestrator.statistics import selection_bootstrap

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
    scores = {
        (m, s): ScoreTable.from_accuracies(generator.integers(20, 56, (EPOCHS, TASKS)) / 75)
        for m in MEASURES
        for s in TASK_SETS
    }
    return replace(plain, scores=scores)


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


def test_against_the_plain_function() -> None:
    """val / val, written out on stacked snapshots with the function of ``statistics``."""
    histories = sweep()
    (cell,) = cells(histories, ["val"], ["val"], seed=3).values()

    def stacked(measure, task_set):
        return [
            np.concatenate([t.scores[measure, task_set].load() for t in histories if t.seed == s])
            for s in (0, 1)
        ]

    def best_of_all(_: int, means: Mapping[str, np.ndarray]) -> np.ndarray:
        return means["val"].argmax(axis=1)

    selection = [{"val": table} for table in stacked("val", "selection")]
    got = selection_bootstrap(
        best_of_all, selection, stacked("novel", "report"), resamples=60, seed=3
    )
    # The draw of seeds carries the method's name; all else is the same.
    assert cell.result.mean == pytest.approx(got.mean)
    assert cell.result.changed == pytest.approx(got.changed)
    assert cell.result.changed > 0.2
    assert cell.result.standard_error == pytest.approx(got.standard_error, rel=0.3)


def test_the_first_column_is_the_selection_as_it_is() -> None:
    histories = sweep(folds=2)
    snapshot = ["last", "train_loss", "base", "val", "mixture(0.4)", "cv-epoch", "oracle"]
    configuration = ["base", "val", "mixture(0.6)", "cv", "cv(aligned)", "oracle"]
    selected = select(histories, snapshot, [*configuration, "budgeted-oracle(2)", "pareto"])
    found = resample(histories, selected, resamples=5)
    assert len(found) == len(selected.strategies) == 7 * 7
    for cell in found:
        expected = [one.novel.mean for one in selected.cell(cell.method, cell.strategy)]
        assert cell.values[:, 0] == pytest.approx(expected, abs=1e-9), cell.strategy
        assert cell.seeds == (0, 1)


def test_choosing_at_once_is_choosing_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = ["base", "mixture(0.4)", "cv-epoch", "oracle"]
    configuration = ["val", "mixture(0.6)", "cv", "cv(aligned)", "oracle", "budgeted-oracle(2)"]
    together = cells(sweep(folds=2), snapshot, configuration, resamples=12)
    for kind in (BestSnapshot, BestConfiguration, BudgetedOracle):
        monkeypatch.setattr(kind, "choose_all", lambda self, scores: None)
    single = cells(sweep(folds=2), snapshot, configuration, resamples=12, one_by_one=12)
    assert len(single) == 24
    for name, cell in single.items():
        assert (cell.values == together[name].values).all(), name


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


class Peeks(HyperparameterSelector):
    name: ClassVar[str] = "peeks"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        return max(candidates, key=lambda one: float(one.tasks["novel"].mean()))


@pytest.fixture
def third_parties(monkeypatch: pytest.MonkeyPatch) -> None:
    for catalogue, parts in (
        (SNAPSHOT_SELECTORS, [ByTasks]),
        (HYPERPARAMETER_SELECTORS, [Cautious, Peeks]),
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


@pytest.mark.usefixtures("third_parties")
def test_resampled_histories_are_sealed() -> None:
    selected = select(sweep(), ["val"], ["base"])
    stolen = replace(
        selected,
        strategies=(replace(selected.strategies[0], hyperparameter="peeks"),),
        selections=tuple(
            replace(one, strategy=replace(one.strategy, hyperparameter="peeks"))
            for one in selected.selections
        ),
    )
    with pytest.raises(SealedMeasurement, match="'peeks' read 'novel'"):
        resample(sweep(), stolen, resamples=5)


class AtOnce(ByTasks):
    """``by-tasks`` in all resamples at once, or what ``answer`` makes of that."""

    name: ClassVar[str] = "at-once"

    def __init__(self, answer: Callable[[Any], Any] = lambda at: at) -> None:
        self.answer = answer

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        return self.answer(np.round(scores["val"], 10).argmax(axis=1))


class PeeksAtOnce(ByTasks):
    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        return scores["novel"].argmax(axis=1)


class WritesAtOnce(ByTasks):
    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        scores["val"].setflags(write=True)
        raise AssertionError


def every(selector: SnapshotSelector, monkeypatch: pytest.MonkeyPatch) -> ResampledCell:
    """The cell of a selector that is named by-tasks, for the configuration of the best BaseGen."""
    monkeypatch.setattr(
        "fsl_sweep.orchestrator.selection.resample.snapshot_selector", lambda _: selector
    )
    (cell,) = cells(sweep(), ["by-tasks"], ["base"], one_by_one=5).values()
    return cell


@pytest.mark.usefixtures("third_parties")
def test_a_third_party_may_choose_in_all_resamples_at_once(monkeypatch) -> None:
    reference = cells(sweep(), ["val"], ["base"])["PN: val / base"]
    assert (every(AtOnce(), monkeypatch).values == reference.values).all()
    nothing = every(AtOnce(lambda at: np.full_like(at, -1)), monkeypatch)
    assert np.isnan(nothing.values).all()


class First(HyperparameterSelector):
    name: ClassVar[str] = "cautious"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        return candidates[0]

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        raise AssertionError("It declares no measure that could say how many resamples there are.")


@pytest.mark.usefixtures("third_parties")
def test_what_declares_nothing_is_run_one_by_one(monkeypatch) -> None:
    monkeypatch.setattr("fsl_sweep.orchestrator.selection.resample._single", lambda _: First())
    (cell,) = cells(sweep(), ["val"], ["cautious"], one_by_one=5).values()
    assert cell.values.shape == (2, 6)


@pytest.mark.usefixtures("third_parties")
@pytest.mark.parametrize(
    ("selector", "failure", "message"),
    [
        (PeeksAtOnce(), SealedMeasurement, "'by-tasks' read 'novel'"),
        (WritesAtOnce(), SelectorFault, "WRITEABLE"),
        (AtOnce(lambda at: at[1:]), SelectorFault, "must return 61 integers from -1 to 4"),
        (AtOnce(lambda at: at / 1), SelectorFault, "must return 61 integers"),
        (AtOnce(lambda at: at + 9), SelectorFault, "must return 61 integers"),
        (AtOnce(lambda at: at - 9), SelectorFault, "must return 61 integers"),
        (AtOnce(lambda at: at[0, 0]), SelectorFault, "raised IndexError"),
    ],
)
def test_what_chooses_at_once_is_sealed_and_checked(
    selector: SnapshotSelector, failure: type[Exception], message: str, monkeypatch
) -> None:
    with pytest.raises(failure, match=message):
        every(selector, monkeypatch)


@pytest.mark.parametrize("snapshot", ["base", "cv-epoch", "train_loss"])
@pytest.mark.parametrize("aligned", [False, True])
def test_cross_validation_by_hand(snapshot: str, aligned: bool) -> None:
    """Each resample's choice by the definition of cv, on tables that are repeated by hand."""
    from fsl_sweep.orchestrator.statistics.resampling import Resampling

    histories = sweep(folds=2)
    name = "cv(aligned)" if aligned else "cv"
    (cell,) = cells(histories, [snapshot], [name], resamples=12).values()
    draws = Resampling(12)

    def mean(one: TrialHistory, measure, task_set, r) -> np.ndarray:
        fold = () if one.fold is None else (f"fold {one.fold}",)
        times = draws.weights((measure, task_set, *fold), TASKS)[r].astype(int)
        table = one.scores[measure, task_set].load()
        return np.round(np.repeat(table, times, axis=1).mean(axis=1), 10)

    def position(one: TrialHistory, r: int) -> int:
        if snapshot == "train_loss":
            return int(one.curves["train_loss"].argmin())
        return int(mean(one, "base", "selection", r).argmax())

    for number, seed in enumerate((0, 1)):
        for r in range(13):
            best, attained = -1.0, 0.0
            for configuration in ("1", "2", "3"):
                full, *folds = (
                    t for t in histories if (t.configuration, t.seed) == (configuration, seed)
                )
                curve = np.mean([mean(f, "val", "selection", r) for f in folds], axis=0)
                at = int(curve.argmax()) if snapshot == "cv-epoch" else position(full, r)
                own = [mean(f, "val", "selection", r)[position(f, r)] for f in folds]
                together = aligned or snapshot == "cv-epoch"
                score = curve[at] if together else np.mean(own)
                if score > best:
                    best, attained = score, mean(full, "novel", "report", r)[at]
            assert cell.values[number, r] == pytest.approx(attained, abs=1e-9)


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


def test_snapshots_that_differ_by_rounding_alone_are_equal_and_the_first_is_chosen() -> None:
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
        assert cells_of(report, [one])["seeds"] == "-"
