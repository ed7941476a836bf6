"""Reports by protocol, against numbers that are looked up one by one."""

import json
import re
import shlex
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import made
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.main import get_command

from fsl_sweep.orchestrator.cli.app import app, invoke
from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TaskSet
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import FORMATS, to_json, to_text
from fsl_sweep.orchestrator.run import Run, load_run
from fsl_sweep.orchestrator.statistics.class_draws import class_groups

CHOSEN = {"snapshots": "chosen"}
MEASURE: dict[str, dict[str, Any]] = {
    "5-shot": {"episode": {"shot": 5}},
    "precise": {"evaluation": {"report_tasks": 50}, **CHOSEN},
    "mixtures": {"mixture": [1, 0.5, 0], **CHOSEN},
    "far": {"mixture": 1, "episode": {"shot": 2}},
    "later": {"episode": {"way": 7}},
    "open": {"evaluation": {"replacement": False}, **CHOSEN},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protocols") / "run"
    made.with_protocols(path, measure=MEASURE, skipped=["later"])
    return path


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """Opened once: what was read for one report is not read again for the next."""
    return load_run(folder)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


@cache
def plain(run: Run, **arguments: Any) -> dict[str, Any]:
    """The report in JSON, made once."""
    return json.loads(to_json(run.report(**arguments)))


def plan_of(folder: Path) -> Plan:
    plan = Ledger(folder).read_plan()
    assert plan is not None
    return plan


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return plan_of(folder)


def looked_up(
    plan: Plan, protocol: str, one: tuple[str, int], measure: Measure, task_set: TaskSet = "report"
) -> float:
    """The recorded accuracy of one snapshot: trial and epoch."""
    number = [trial.id for trial in plan.trials].index(one[0])
    scores = made.protocol_record(plan.protocol(protocol), one[1], number).scores
    return scores[measure, task_set].accuracy.mean()


KEY = ("method", "seed", "snapshot_selector", "hyperparameter_selector", "trial", "epoch")


@pytest.mark.parametrize("protocol", ["5-shot", "precise", "mixtures(0.5)"])
def test_what_the_main_protocol_chose_is_reported_under_another(
    run: Run, plan: Plan, protocol: str
) -> None:
    chosen, found = plain(run)["selections"], plain(run, protocol=protocol)
    assert found["run"]["complete"]
    assert [[one[key] for key in KEY] for one in found["selections"]] == [
        [one[key] for key in KEY] for one in chosen
    ]
    for one in found["selections"]:
        for measure in MEASURES:
            expected = looked_up(plan, protocol, (one["trial"], one["epoch"]), measure)
            assert one[measure]["mean"] == pytest.approx(expected, abs=1e-12)
    oracles = {
        (one["method"], one["seed"]): one["novel"]["mean"]
        for one in found["selections"]
        if one["snapshot_selector"] == one["hyperparameter_selector"] == "oracle"
    }
    for one in found["selections"]:
        lost = oracles[one["method"], one["seed"]] - one["novel"]["mean"]
        assert one["regret"] == pytest.approx(lost, abs=1e-12)


def test_tasks_without_replacement_are_at_most_so_many_and_their_intervals_open(
    run: Run,
) -> None:
    one = {"snapshot": ("val",), "hyperparameter": ("val",)}
    found = {name: plain(run, **one, protocol=name) for name in ("main", "open")}
    described = [found["open"]["run"]["protocol"]["description"]]
    assert ["at most" in one for one in described] == [True]
    for name, kind in (("main", "closed intervals"), ("open", "are open")):
        about = [one for one in found[name]["cautions"] if one.startswith("Intervals over tasks")]
        assert len(about) == 1
        assert kind in about[0]


def test_another_protocol_chooses_on_its_selection_tasks(run: Run, plan: Plan) -> None:
    found = plain(run, snapshot=("val",), hyperparameter=("val",), choose_by="5-shot")
    for one in found["selections"]:
        own = [t.id for t in plan.trials if (t.method, t.spec.seed) == (one["method"], one["seed"])]
        best = max(
            ((trial, epoch) for trial in own for epoch in range(1, 7)),
            key=lambda snapshot: looked_up(plan, "5-shot", snapshot, "val", "selection"),
        )
        assert (one["trial"], one["epoch"]) == best
        expected = looked_up(plan, "main", best, "novel")
        assert one["novel"]["mean"] == pytest.approx(expected, abs=1e-12)
    assert found["run"]["chosen_by"]["episode"]["shot"] == 5
    # What it chooses is measured by no command that measures what the main one chooses.
    assert not run.question(choose_by="5-shot").as_planned
    assert found["run"]["protocol"]["episode"]["shot"] == 1


def test_the_table_over_protocols(run: Run, plan: Plan) -> None:
    found = plain(run)
    assert {one["id"] for one in found["protocols"]} == {one.id for one in plan.protocols}
    measured = [one for one in plan.protocols if one.name != "later"]
    rows = {
        (r["method"], r["snapshot_selector"], r["hyperparameter_selector"], r["protocol"]): r
        for r in found["over_protocols"]
    }
    assert len(rows) == len(found["over_protocols"]) == len(found["summary"]) * len(measured)
    for (method, first, second, protocol), row in rows.items():
        choices = [
            (one["trial"], one["epoch"])
            for one in found["selections"]
            if (one["method"], one["snapshot_selector"]) == (method, first)
            and one["hyperparameter_selector"] == second
        ]
        assert len(choices) == 3
        for measure in MEASURES:
            values = [looked_up(plan, protocol, one, measure) for one in choices]
            assert row[measure]["mean"] == pytest.approx(np.mean(values), abs=1e-12)
            half = 4.302652729911275 * np.std(values, ddof=1) / np.sqrt(3)  # Student's t, 2 d.f.
            assert row[measure]["high"] - row[measure]["mean"] == pytest.approx(half, abs=1e-9)


@pytest.mark.usefixtures("undrawn")
def test_every_format_names_the_protocols_and_shows_the_table(
    run: Run, snapshot: SnapshotAssertion
) -> None:
    report = run.report(["val"], ["val"], protocol="precise", bootstrap=0)
    for name, form in FORMATS.items():
        text = " ".join(form(report).split())
        for said in ("5-way 1-shot, 15 queries, 20 + 50 tasks", "20 + 20 tasks", "lambda 0.5"):
            assert said in text.replace("\\allowbreak{}", ""), name
    assert to_text(replace(report, info=replace(report.info, places=("my run",)))) == snapshot


def test_an_old_report_is_reproduced_under_the_old_protocol(tmp_path: Path) -> None:
    measure = {name: MEASURE[name] for name in ("5-shot", "precise")}
    path = tmp_path / "run"
    made.with_protocols(path, measure=measure)
    few = {"snapshot": ["last", "val"], "hyperparameter": ["val"]}
    before, old = load_run(path).report(**few), plan_of(path).main.id
    weights = {one: one.read_bytes() for one in path.rglob("*.safetensors")}
    made.with_protocols(path, report_tasks=40, measure=measure)
    assert weights == {one: one.read_bytes() for one in path.rglob("*.safetensors")}
    now = load_run(path).report(**few)
    assert now.info.protocol is not None
    assert now.info.protocol.protocol.tasks.report_tasks == 40
    assert len(now.over_protocols) == len(before.over_protocols)
    again = load_run(path).report(**few, protocol=old, choose_by=old)
    assert to_json(again) == to_json(before) != to_json(now)


def test_chosen_snapshots_that_are_not_measured_are_named(copy: Path, capfd: Any) -> None:
    assert invoke(["report", str(copy), "--protocol", "later"]) == 1
    out = " ".join(capfd.readouterr().out.split())
    assert "made: INCOMPLETE" in out
    assert "chosen snapshots are not measured under 'later' (7-way" in out
    assert f"`fsl-sweep measure {copy} later` measures them" in out
    found = plain(load_run(copy), protocol="later")
    assert not found["run"]["complete"]
    assert found["selections"] == found["summary"] == []
    assert found["run"]["unmeasured"] == len(
        {(one["trial"], one["epoch"]) for one in found["run"]["left_out"]}
    )
    # What the file's strategies chose is measured, what another one chose is not.
    asked = [f"mixture({weight})" for weight in (0.2, 0.4, 0.6, 0.8)]
    other = load_run(copy).report(asked, ["val", "base"], protocol="precise", bootstrap=0)
    assert other.completeness.unmeasured
    assert any(f"measure {copy} precise --snapshots all`" in one for one in other.cautions)


def pasted(*texts: str) -> list[list[str]]:
    """The words of all commands in these texts, each of which takes its arguments."""
    lines = re.findall(r"`(fsl-sweep [^`]*)`", " ".join(" ".join(texts).split()))
    commands = [shlex.split(line) for whole in lines for line in whole.split("; ")]
    for _, name, *words in commands:
        click: Any = get_command(app)
        click.get_command(None, name).make_context(name, words)
    return commands


@pytest.mark.usefixtures("undrawn")
def test_commands_of_a_report_can_be_pasted(copy: Path, tmp_path: Path, plan: Plan) -> None:
    made.flip(next((copy / "trials").glob(f"*/measured/{plan.protocol('5-shot').id}.parquet")))
    one, other = tmp_path / "one run", Path(shutil.copytree(copy, tmp_path / "another run"))
    copy.rename(one)
    for places in ([one], [one, other]):
        texts = []
        for parts in ({}, {"protocol": "later"}, {"protocol": "precise"}):
            report = load_run(places).report(bootstrap=30, **parts)
            report = replace(report, curves_total=100)
            texts += [to_text(report), *report.cautions]
            for form in FORMATS.keys() - {"terminal"}:
                assert not re.search("one run|another run", FORMATS[form](report))
        commands = pasted(*texts)
        alone = {"measure", "verify"} | ({"tensorboard"} if places == [one] else set())
        assert {name for _, name, *_ in commands} == alone
        assert {place for _, _, place, *_ in commands} == {*map(str, places)}


def test_what_is_not_measured_leads_to_no_number(run: Run) -> None:
    pairs = (["val", "last"], ["val", "budgeted-oracle(1)", "pareto"])
    report = run.report(*pairs, protocol="precise", bootstrap=200)
    assert report.completeness.complete
    # Some last snapshot was chosen by no strategy, and no point stands for the others.
    assert [one.snapshots for one in report.tradeoffs] == [("val",)]
    # In resamples `val` chooses any snapshot, and no interval stands for those that are measured.
    assert {one.strategy.snapshot for one in report.resampled} == {"last"}
    assert "--bootstrap 1000" not in to_text(report)  # more resamples add none
    assert all(np.isfinite(one.values).all() for one in report.resampled)
    assert any(f"measure {run.path} precise --snapshots all`" in one for one in report.cautions)
    recorded = run.records("precise").set_index(["trial", "epoch"])["novel_report"]
    points = [point for front in report.selected.fronts for point in front.points]
    shown = [point.mean("novel") for point in points]
    assert np.isnan(shown).any()
    expected = [recorded[point.trial, point.epoch] for point in points]
    assert shown == pytest.approx(expected, nan_ok=True)
    assert "NaN" not in to_json(report)
    assert all(np.isfinite(point.regret.mean) for point in report.budget_curve)


def test_who_chooses_must_be_measured_whole(copy: Path, plan: Plan) -> None:
    for name in ("later", "precise"):
        with pytest.raises(
            RunFolderError, match=rf"measure {copy} {name} --snapshots all` measures"
        ):
            load_run(copy).report(choose_by=name)
    with pytest.raises(UnknownName, match="unknown protocol '5shot'; did you mean '5-shot'"):
        load_run(copy).report(protocol="5shot")
    later, first = plan.protocol("later"), Ledger(copy).trial(plan.trials[0].id)
    for epoch in range(1, 7):
        first.write_measured(epoch, later.id, made.protocol_record(later, epoch, 0).scores)
    partly = load_run(copy).report(choose_by="later", bootstrap=0)
    assert (partly.completeness.done, partly.completeness.planned) == (1, 12)
    reasons = {one.reason for one in partly.completeness.problems}
    assert reasons == {"6 of 6 snapshots are not measured under the protocol that chooses"}
    assert any(f"measure {copy} later --snapshots all` measures" in one for one in partly.cautions)


def test_damage_under_another_protocol_is_named(copy: Path, plan: Plan) -> None:
    of = plan.protocol("5-shot").id
    made.flip(copy / "trials" / plan.trials[0].id / "measured" / f"{of}.parquet")
    report = load_run(copy).report(bootstrap=0)
    assert report.completeness.complete
    assert any(f"{of}.parquet" in one and "damaged" in one for one in report.cautions)
    assert not load_run(copy).report(protocol="5-shot", bootstrap=0).completeness.complete


def test_frames_carry_the_protocol(run: Run, plan: Plan) -> None:
    assert run.protocols[:2] == ("main", "5-shot")
    usual, other = run.records(), run.records("5-shot")
    assert set(usual["protocol"]) == {"main"}
    assert set(other["protocol"]) == {"5-shot"}
    row = other.iloc[4]
    snapshot = row["trial"], row["epoch"]
    expected = looked_up(plan, "5-shot", snapshot, "val", "selection")
    assert row["val_selection"] == pytest.approx(expected, abs=1e-12)
    expected = looked_up(plan, "5-shot", snapshot, "novel")
    assert row["novel_report"] == pytest.approx(expected, abs=1e-12)
    assert run.records("precise")["novel_report"].isna().any()
    narrowed = run.report(["val"], ["val"], method="PN", configuration="way=5", bootstrap=0)
    scope = "Only methods PN and configurations with way=5 take part."
    assert scope in to_text(narrowed).splitlines()[:4]
    chosen = run.selections(["val"], ["val"], protocol="far", choose_by="5-shot")
    assert set(chosen["protocol"]) == {"far"}


def test_classes_of_other_novel_tasks_are_drawn_separately(run: Run) -> None:
    both = run.class_tuples("far", "5-shot")
    assert both["novel", "report"].min() >= 50 > both["novel", "selection"].max()
    groups = {key: one.group for key, one in class_groups(both, ["novel"]).items()}
    assert groups["novel", "report"] != groups["novel", "selection"]
    assert groups["val", "report"] == groups["val", "selection"]
    cells = run.report(["val"], ["val"], classes=True, protocol="far").resampled
    assert {one.result.over for one in cells} == {"classes"}
    with pytest.raises(RunFolderError, match="mixture draws base and novel classes unequally"):
        run.report(classes=True, protocol="mixtures(0.5)")


def test_several_runs_share_their_protocols(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    meant = {"5-shot": MEASURE["5-shot"], "far": {"mixture": 0, "episode": {"shot": 2}}}
    made.with_protocols(other, measure=meant, seeds=(3, 4))
    both = load_run([folder, other])
    assert both.protocols == ("main", "5-shot")
    report = both.report(["val"], ["val"], protocol="5-shot", bootstrap=0)
    assert Counter(one.method for one in report.selected.selections) == {"PN": 5, "RR": 5}
    assert [one.planned.name for one in report.over_protocols] == ["main", "5-shot"]
    with pytest.raises(RunFolderError, match=r"'far' is not the same in all runs: .*lambda 1 in"):
        both.report(protocol="far")
    with pytest.raises(RunFolderError, match=r"'precise' is not one of .*other\. Measure it there"):
        both.report(protocol="precise")
    table = tmp_path / "table.csv"
    rows = [f"X,a,0,{epoch},{m},0.5" for epoch in (1, 2) for m in MEASURES]
    table.write_text("\n".join(["method,configuration,seed,epoch,measure,accuracy", *rows]))
    for paths in ([table], [folder, table]):
        with pytest.raises(RunFolderError, match="records of a table have no protocols"):
            load_run(paths).report(protocol="5-shot")
    assert plain(load_run(table))["run"]["protocol"] is None


def test_the_answer_reads_novel_scores_and_every_end_at_most_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    monkeypatch.setattr("fsl_sweep.orchestrator.replay.folder.CHECKED", 0)
    for owner, name in ((columns, "read_accuracies"), (Folder, "read_json")):
        real = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *given, real=real: read.append(given) or real(*given)
        )
    report = load_run(folder).report()
    to_text(report, full=False)

    def measures() -> set[str]:
        return {given[1][0] for given in read if given[1][1:] == ("report",)}

    assert measures() == {"novel"}
    ends = [folder.inside for folder, name, *_ in read if name == "end.json"]
    assert max(map(ends.count, ends)) == 2  # for the plan, and if it is chosen for all protocols
    to_json(report)
    assert measures() == {*MEASURES}
