"""The papers' names: accepted wherever a name is typed, one name of each thing everywhere else."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import pytest

from fsl_sweep import load_run
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName, did_you_mean
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.paper_names import selector_name
from fsl_sweep.orchestrator.report import to_json
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.catalogue import HYPERPARAMETER_SELECTORS, SNAPSHOT_SELECTORS
from fsl_sweep.orchestrator.selectors.mixture import base_weight
from fsl_sweep.orchestrator.sweepfile.reading import SweepFile, load_sweep

NAMES = {
    "EoT": "last",
    "eot": "last",
    "end-of-training": "last",
    "End of Training": "last",
    "ValGen": "val",
    "BASEGEN": "base",
    "mixture(0.5)": "mixture(0.5)",
    "NovelGen": "NovelGen",
}


@pytest.mark.parametrize(("typed", "ours"), NAMES.items())
def test_names(typed: str, ours: str) -> None:
    assert selector_name(typed) == ours
    if ours in ("last", "val", "base"):
        assert snapshot_selector(typed).name == ours


def sweep(folder: Path, selectors: str) -> SweepFile:
    path = folder / "s.yaml"
    path.write_text(
        "name: s\nbenchmark: {name: glyphs}\n"
        "defaults: {backbone: {name: conv4}, optimizer: {name: sgd, lr: 0.1}}\n"
        f"methods: {{PN: {{learner: {{name: protonet}}}}}}\nselectors: {selectors}\n"
    )
    return load_sweep(str(path))


def test_plans_and_digests_hold_our_names(tmp_path: Path) -> None:
    typed, ours = (
        plan_sweep(sweep(tmp_path, selectors))
        for selectors in (
            "{snapshot: [EoT, ValGen], hyperparameter: [BaseGen], metric: NovelGen}",
            "{snapshot: [last, val], hyperparameter: [base]}",
        )
    )
    assert (typed.selectors.snapshot, typed.selectors.metric) == (["last", "val"], "novel")
    assert typed == ours


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        (
            "{snapshot: [val, ValGen]}",
            "s.yaml: selectors.snapshot: 'val' is given twice; 'val' and 'ValGen' are the same",
        ),
        ("{snapshot: [val, val]}", "s.yaml: selectors.snapshot: 'val' is given twice"),
    ],
)
def test_two_names_of_one_selector_are_a_repeat(
    tmp_path: Path, selectors: str, message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        sweep(tmp_path, selectors)
    assert message in str(raised.value)


def table(folder: Path, *, base: str, val: str, novel: str) -> Path:
    folder.mkdir()
    path = folder / "table.csv"
    rows = ["method,configuration,seed,epoch,measure,task,accuracy"]
    for method, seed, epoch, (measure, rate), task in product(
        "AB", range(2), (1, 2), ((base, 0.5), (val, 0.4), (novel, 0.3)), range(3)
    ):
        accuracy = rate + (0.1 if method == "A" else 0.05) * epoch + 0.01 * task + 0.02 * seed
        rows.append(f"{method},x,{seed},{epoch},{measure},{task},{accuracy:.3f}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_reports_and_tables_know_one_name(tmp_path: Path) -> None:
    ours = load_run(table(tmp_path / "ours", base="base", val="val", novel="novel"))
    theirs = load_run(table(tmp_path / "theirs", base="BaseGen", val="ValGen", novel="NovelGen"))
    plain, other = (
        json.loads(to_json(run.report(snapshot, hyperparameter, metric=metric)))
        for run, snapshot, hyperparameter, metric in (
            (ours, ["last", "val"], ["base"], "novel"),
            (theirs, ["EoT", "valgen"], ["BaseGen"], "NovelGen"),
        )
    )
    for one in (plain, other):
        del one["run"]["sweep"], one["run"]["name"], one["selections"], one["run"]["selectors"]
    assert plain == other
    frame = ours.selections(["ValGen"], ["ValGen"])
    assert set(frame["snapshot_selector"]) == {"val"}
    with pytest.raises(ConfigError, match="--snapshot: 'val' is given twice; 'val' and 'ValGen'"):
        ours.report(["val", "ValGen"])


@pytest.mark.parametrize("typed", ["NovelGen", "novelgen", "novel"])
@pytest.mark.parametrize("build", [snapshot_selector, hyperparameter_selector])
def test_the_test_measure_is_no_selector(typed: str, build: Callable[[str], object]) -> None:
    with pytest.raises(ConfigError) as raised:
        build(typed)
    expected = f"{typed} is the test measure: choosing by it is the oracle; write 'oracle' if that"
    assert str(raised.value).startswith(expected)


VALIDATION = ["val", "ValGen", "valgen", "validation", "valid", "val_acc", "val-oracle", "dev"]


def near(name: str) -> set[str]:
    """The name with one letter left out, doubled, replaced or put in, in either case."""
    found = {name, name.upper(), name.title()}
    for i in range(len(name) + 1):
        found |= {name[:i] + name[i + 1 :], name[:i] + name[i : i + 1] * 2 + name[i + 1 :]}
        for letter in ascii_lowercase + "-":
            found |= {name[:i] + letter + name[i:], name[:i] + letter + name[i + 1 :]}
    return found - {""}


def unknown(build: Callable[[str], object], name: str) -> UnknownName:
    with pytest.raises(UnknownName) as raised:
        build(name)
    return raised.value


@pytest.mark.parametrize("build", [snapshot_selector, hyperparameter_selector, base_weight])
def test_nothing_leads_from_a_validation_measure_to_novel_scores(
    build: Callable[[str], object],
) -> None:
    """Not to an oracle, not to a budgeted one, not to a front, not to NovelGen as the metric."""
    oracles = {"oracle", "budgeted-oracle", "pareto", "novel"}
    for name in ("validation", "val_acc", "val-oracle", "dev", "validation-oracle"):
        answer = str(unknown(build, name))
        assert not any(f"did you mean '{one}'" in answer for one in oracles), answer
    one = unknown(build, "validation")
    for name in {name for spelt in VALIDATION for name in near(spelt)}:
        answer = did_you_mean(name, one.known, one.guarded)
        suggested = answer.partition("did you mean '")[2].partition("'")[0]
        assert suggested not in oracles, (name, answer)


def test_a_misspelt_oracle_is_found_and_so_are_ours() -> None:
    typos = {"orcale": "oracle", "Oracle": "oracle", "ValGenn": "val", "train-loss": "train_loss"}
    for typed, suggested in typos.items():
        assert f"did you mean '{suggested}'?" in str(unknown(snapshot_selector, typed))
    found = str(unknown(hyperparameter_selector, "budget-oracle(3)"))
    assert "did you mean 'budgeted-oracle'?" in found
    assert did_you_mean("novel", ["selection", "report"], ["novel"]) == "known: report, selection"
    assert did_you_mean("pn", ["PN", "RR"]) == "did you mean 'PN'?"
    many = did_you_mean("nothing", [f"{number:04}" for number in range(1623)])
    assert len(many) < 400
    assert many.endswith("0049, ... (1,623 in all)")


def test_what_is_guarded_is_all_that_reads_novel_scores() -> None:
    guarded = unknown(hyperparameter_selector, "nothing-like-it").guarded
    assert {"oracle", "budgeted-oracle", "pareto"} <= set(guarded)
    reading = {
        info.name
        for info in (*SNAPSHOT_SELECTORS.own, *HYPERPARAMETER_SELECTORS.own)
        if "novel" in info.cls.needs
    }
    assert reading == {"oracle", "budgeted-oracle", "pareto"}
