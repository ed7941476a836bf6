"""Files that say that they hold more than any run writes: named, and not read."""

import os
import struct
from pathlib import Path

import made
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tables

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.ledger import bounds, columns, measured
from fsl_sweep.orchestrator.ledger.envelope import sealed
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import SCORE_KEYS, TaskScores
from fsl_sweep.orchestrator.replay import table

KINDS = (
    "plan.json sweep.yaml environment.json lock tasks/*/novel-report.json trials/*/spec.json "
    "trials/*/end.json trials/*/pruned.json trials/*/resume.state trials/*/epochs/0001.json "
    "trials/*/measured/*.parquet trials/*/measured/*/0001.record trials/*/snapshots/*.safetensors"
)


@pytest.mark.parametrize("kind", KINDS.split())
def test_a_terabyte_of_nothing_is_named_and_not_read(run: Path, capsys, kind: str) -> None:
    path = sorted(run.glob(kind))[0]
    os.truncate(path, 2**40)
    code = invoke(["verify", str(run)])
    said = capsys.readouterr()
    assert code == 1
    assert path.relative_to(run).as_posix() in said.out
    assert invoke(["report", str(run), "--bootstrap", "0"]) == (2 if kind == "plan.json" else 1)
    assert "Traceback" not in capsys.readouterr().err


def answers() -> bytes:
    rng = np.random.default_rng(0)
    scores = {
        key: TaskScores.of_answers(rng.integers(0, 3, 6000).astype(np.uint16), np.full(80, 75))
        for key in SCORE_KEYS
    }
    return columns.answers_of("0" * 64, scores)


def test_answers_that_unpack_to_gigabytes_are_refused(tmp_path: Path) -> None:
    usual = answers()
    assert columns.read_answers(usual)[0] == "0" * 64
    # A compressed buffer begins with its size: those of the answers claim 4 GiB each.
    claimed = usual.replace(struct.pack("<q", 12000), struct.pack("<q", 2**32))
    assert usual.count(struct.pack("<q", 12000)) >= len(SCORE_KEYS)
    storage, _ = made.filled(tmp_path)
    name = measured.answers_name(made.MAIN_ID, 1)
    storage.folder.write(name, sealed(claimed, storage.folder.place(name)))
    with pytest.raises(Damaged, match="unpacks to more than any run writes"):
        storage.read_answers(1, made.MAIN_ID)
    for cut in range(0, len(usual) - 99, 97):  # whatever it is, it is no crash
        with pytest.raises(ValueError, match="it "):
            columns.read_answers(usual[:cut])


@pytest.mark.parametrize("bound", ["rows", "bytes"])
def test_a_footer_that_claims_more_than_was_recorded_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    storage, planned = made.filled(tmp_path, end=made.DONE)
    read = lambda: storage.history(planned, made.MAIN_ID)  # noqa: E731
    assert not read().damaged
    if bound == "bytes":
        monkeypatch.setattr(bounds, "PER_ROW", made.TASKS)  # a count takes two bytes
        monkeypatch.setattr(bounds, "_MIB", 2**20)
    else:
        check = bounds.check_footer
        fewer = lambda place, about, rows: check(place, about, rows - 1)  # noqa: E731
        monkeypatch.setattr(measured, "check_footer", fewer)
    (damaged,) = read().damaged
    assert damaged.endswith(f"{made.MAIN_ID}.parquet")


def test_a_table_that_unpacks_to_more_than_a_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused
) -> None:
    rows = pd.concat([pd.DataFrame(tables.made())] * 50)
    rows.to_parquet(packed := tmp_path / "packed.parquet")
    rows.to_csv(plain := tmp_path / "plain.csv", index=False)
    assert packed.stat().st_size < 20_000 < plain.stat().st_size
    monkeypatch.setattr(table, "MOST_BYTES", 20_000)
    for path in (packed, plain):
        assert "tables of up to 20,000 are read" in refused("report", path)


class _Fails:
    """Reads of compacted measurements that find no memory."""

    def __init__(self, *_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 6000000000 failed")


def test_memory_that_runs_out_is_one_message_and_no_damage(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def fails(*_: object) -> bytes:
        raise MemoryError

    for place, name, fault in ((measured.pq, "ParquetFile", _Fails), (Folder, "read", fails)):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fault)
            for command in ("report", "verify", "status"):
                if (place, command) == (measured.pq, "status"):
                    continue
                assert invoke([command, str(run)]) == 3
                out, err = capsys.readouterr()
                assert (out, err.count("\n")) == ("", 1)
                assert err.startswith("fsl-sweep: the machine failed: there is not enough memory")
    assert Ledger(run).trial_ids()
