"""``status`` and ``report`` point at the report: of a run that is whole, on its way, or empty."""

import shutil

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd

FAILED = TrialEnd("failed", "no memory")
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
