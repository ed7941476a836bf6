"""What weights will take on the disk; that runs stay below it is tested with the commands."""

from dataclasses import replace

import made
import pytest

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.disk import disk, snapshot_sizes
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol, Protocol
from fsl_sweep.orchestrator.text.printed import on_disk
from fsl_sweep.orchestrator.trial.trial import Trial

EPOCHS, SIZE = 10, 100


@pytest.mark.parametrize(
    ("keep", "further", "peak", "stays"),
    [  # in snapshots: two trials, one at a time, and five snapshot selectors with `last`
        ("all", None, 20, 20),
        ("chosen", None, 5 + 10, 10),
        ("last", None, 1 + 2, 2),
        ("none", None, 0, 0),
        ("none", "last", 1 + 2, 0),
        ("last", "chosen", 5 + 10, 2),
        ("chosen", "all", 20, 10),
    ],
)
def test_what_stays_follows_keep_and_the_peak_the_protocols_too(keep, further, peak, stays):
    trials = [made.planned(made.spec(seed, epochs=EPOCHS)) for seed in (0, 1)]
    plan = replace(made.plan(*trials), keep=keep)
    if further is not None:
        another = PlannedProtocol("another", Protocol(mixture=0.5), further)
        plan = replace(plan, protocols=(*plan.protocols, another))
    found = disk(plan, dict.fromkeys(plan.specs, SIZE), at_once=1)
    assert found == (SIZE, peak * SIZE, stays * SIZE)


def test_a_snapshot_is_as_large_as_its_network_and_then_as_the_recorded_one(tmp_path):
    benchmark, spec = made.benchmark(), made.trainable(epochs=1)
    ledger, plan = Ledger(tmp_path / "run"), made.plan(made.planned(spec))
    expected = snapshot_sizes(plan, benchmark, ledger)[spec.id]
    list(Trial(spec, ledger.trial(spec.id), benchmark, made.main_of(benchmark)).run())
    real = snapshot_sizes(plan, benchmark, ledger)[spec.id]
    assert real == ledger.trial(spec.id).folder.size("snapshots/0001.safetensors")
    assert expected == pytest.approx(real, rel=0.05)


def test_bytes_are_written_with_two_digits_and_their_unit():
    sizes = (0, 999, 1000, 9949, 9951, 54e9, 999.6e6)
    assert [*map(on_disk, sizes)] == [
        "0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "54 GB", "1.0 GB",
    ]  # fmt: skip
