from pathlib import Path

import pytest
from made import plan, planned, record, spec
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.records import TrialEnd


def test_the_view_has_the_reports_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = [planned(spec(way=way)) for way in (5, 10)]
    ledger = Ledger(tmp_path / "run")
    ledger.write_plan(plan(*trials), "name: made\n")
    for seed, one in enumerate(trials):
        trial = ledger.trial(one.id)
        trial.begin(one.spec)
        for epoch in (1, 2, 3):
            trial.write_epoch(record(epoch, seed), b"weights")
        trial.end(TrialEnd("done"))
    command = ["tensorboard", str(tmp_path / "run"), "--no-serve"]
    assert invoke(command) == 0
    folder = tmp_path / "run" / "tensorboard"
    assert str(folder) in capsys.readouterr().out
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    tags = [tag for tag in events.Reload().Tags()["tensors"] if tag.startswith("figures/")]
    assert "figures/progressions/PN, way=10, seed 0" in tags
    assert {tag.split("/")[1] for tag in tags} == {"trade-off", "progressions"}
    before = {path: path.read_bytes() for path in folder.rglob("events.*")}
    assert invoke(command) == 0
    assert {path: path.read_bytes() for path in folder.rglob("events.*")} == before
