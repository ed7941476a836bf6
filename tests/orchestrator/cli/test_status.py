"""``status`` and ``report`` point at the report: of a run that is whole, on its way, or empty."""

import json
import shutil

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd

FAILED = TrialEnd("failed", "no memory")
SPENT = TrialEnd("budget", "the budget of 1 s was spent in epoch 1, step 2")
DONE = TrialEnd("done")


@pytest.mark.parametrize(
    ("ends", "code", "last"),
    [
        ((), 0, "report: `fsl-sweep report 'my run'`"),
        ((DONE, FAILED), 1, "report so far: `fsl-sweep report 'my run'`"),
        ((FAILED, FAILED), 1, None),
    ],
)
def test_status_names_the_report(tmp_path, monkeypatch, capsys, ends, code, last) -> None:
    monkeypatch.chdir(tmp_path)
    trials = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]
    made.recorded(tmp_path / "my run", *trials, ends=ends)
    assert invoke(["status", "my run"]) == code
    *_, shown = capsys.readouterr().out.splitlines()
    assert shown == last or (last is None and "report" not in shown)


def test_a_trial_in_its_first_epoch_has_begun(tmp_path, capsys) -> None:
    trials = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6, 7)]
    ledger = made.recorded(tmp_path / "run", *trials)
    for one in trials[1:]:
        shutil.rmtree(tmp_path / "run" / "trials" / one.id)
    ledger.trial(trials[1].id).begin(trials[1].spec)
    assert invoke(["status", str(tmp_path / "run")]) == 1
    shown = capsys.readouterr().out
    assert "1 begun, 1 done, 1 not begun" in shown
    (line,) = [one for one in shown.splitlines() if trials[1].id in one]
    assert line.endswith(": 0 epochs recorded")


def test_an_unfinished_run_is_reported_as_far_as_whole_seeds_go(tmp_path, capsys) -> None:
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in (5, 6) for s in (0, 1, 2)]
    made.recorded(tmp_path / "run", *trials, ends=[DONE] * 5 + [FAILED])
    assert invoke(["report", str(tmp_path / "run")]) == 1
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert out.startswith("made: INCOMPLETE\n")
    assert "So far, " in said
    assert "; an incomplete run decides nothing." in said
    assert "Seeds with a failed trial are left out: 5 of 6 trials are done." in said
    assert "! What is reported is of the seeds without a failed trial" in said
    assert "W6 (2 of 3 seeds)" in said
    assert out.splitlines()[-1].startswith("`--full`: all tables")
    assert invoke(["report", str(tmp_path / "run"), "--full"]) == 1
    assert "Cautions ─" in capsys.readouterr().out


def test_what_a_budget_stopped_is_named_with_how_far_it_was(tmp_path, capsys) -> None:
    run = tmp_path / "run"
    trials = [made.planned(made.spec(s, w, epochs=40), f"W{w}") for w in (5, 6) for s in (0, 1)]
    ledger = made.recorded(run, *trials[1:], ends=[SPENT, SPENT, SPENT])
    ledger.write_plan(made.plan(*trials), "name: made\n")
    early = ledger.trial(trials[0].id)
    early.begin(trials[0].spec)
    early.end(SPENT, made.MAIN_ID)
    assert invoke(["report", str(run)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "4 trials planned, 3 done (3 stopped by their budget), 0 failed, 1 stopped by budget "
        "before the first snapshot, 0 missing." in said
    )
    for stopped in (
        "W5 was stopped by its budget in seed 1, after 3 of 40 epochs: its scores are of "
        "unfinished training.",
        "W5 was stopped by its budget in seed 0, before its first snapshot: what depends on that "
        "is left out. Raise `budget.seconds`.",
        "W6 was stopped by its budget in seeds 0, 1, after 3 of 40 epochs: its scores are of "
        "unfinished training.",
    ):
        assert f"! {stopped}" in said
    assert "Seeds with a trial that its budget stopped too early are left out: 3 of 4" in said
    assert "Finish the run" not in said
    invoke(["report", str(run), "--format", "json"])
    plain = json.loads(capsys.readouterr().out)
    keys = ("done", "failed", "missing", "stopped_by_budget", "stopped_before_snapshot")
    assert [plain["run"][key] for key in keys] == [3, 0, 0, 4, 1]
    assert not any("run the sweep again" in caution for caution in plain["cautions"])
    assert invoke(["status", str(run)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert "3 budget, 1 stopped by its budget before its first snapshot" in shown
    assert any(line.endswith("epoch 1, step 2; raise `budget.seconds`") for line in shown)
