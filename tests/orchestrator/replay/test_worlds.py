"""The same methods on several benchmarks: each world is what it would be by itself."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from recorded import run_folder
from tables import exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.replay.worlds import has_worlds, open_worlds
from fsl_sweep.orchestrator.run import Benchmarks, Run

Frames = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Records of two benchmarks by world, per task."""
    place, found = tmp_path_factory.mktemp("frames"), {}
    for number, world in enumerate(("omniglot", "cub")):
        seeds = (number, number + 1)
        folder = run_folder(place / world, (0.1, 0.01), seeds, shift=number, tasks=6 - number)
        table = exported(fsl_sweep.load_run(folder), place / f"{world}.csv")
        found[world] = pd.read_csv(table, dtype=str, keep_default_na=False)
    return found


def together(frames: Frames) -> pd.DataFrame:
    """One table, its rows mixed: those of a world stay in their order."""
    both = pd.concat([own.assign(world=world) for world, own in frames.items()])
    return both.sort_index(kind="stable")


def same(run: Run, other: Run, bootstrap: int = 10) -> None:
    pd.testing.assert_frame_equal(run.selections(), other.selections())
    ours, theirs = (one.report(bootstrap=bootstrap) for one in (run, other))
    assert ours.summaries == theirs.summaries
    assert ours.comparisons == theirs.comparisons
    assert [str(cell.result) for cell in ours.resampled] == [
        str(cell.result) for cell in theirs.resampled
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_each_world_is_the_table_of_its_rows(tmp_path: Path, frames: Frames, ending: str) -> None:
    path = tmp_path / f"both.{ending}"
    mixed = together(frames).reset_index(drop=True)
    mixed = mixed.astype({"world": "category"})
    mixed.to_csv(path, index=False) if ending == "csv" else mixed.to_parquet(path)
    assert has_worlds([path])
    worlds = fsl_sweep.load_benchmarks(path)
    assert isinstance(worlds, Benchmarks)
    assert (list(worlds), len(worlds), worlds.name) == (["omniglot", "cub"], 2, "omniglot + cub")
    assert worlds["cub"].name == "both (cub)"
    assert "mars" not in worlds
    for world, run in worlds.items():
        same(run, fsl_sweep.load_run(written(frames[world], tmp_path / f"{world}.csv")))


def test_run_folders_of_several_benchmarks_are_worlds(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1, 0.01), (0, 1))
    more = run_folder(tmp_path / "more", (0.1, 0.01), (2,))
    other = run_folder(tmp_path / "other", (0.1, 0.01), (0, 1), fingerprint="beef", shift=1)
    worlds = fsl_sweep.load_benchmarks([first, other, more])
    # Two runs of one benchmark are no two worlds.
    assert list(worlds) == ["first + more", "other"]
    same(worlds["first + more"], fsl_sweep.load_run([first, more]))
    same(worlds["other"], fsl_sweep.load_run(other))
    namesake = run_folder(tmp_path / "2" / "first", (0.1, 0.01), (0,), fingerprint="cafe")
    assert list(open_worlds([first, namesake])) == [f"first ({first})", f"first ({namesake})"]
    with pytest.raises(RunFolderError, match=r"one world, 'first \+ more', and.*over two or more"):
        open_worlds([first, more])
    with pytest.raises(
        RunFolderError, match=r"differ in the data that .*, so .* `fsl-sweep report --worlds`"
    ):
        fsl_sweep.load_run([first, other])
    assert not has_worlds([first, other])


def test_worlds_of_one_name_are_joined(tmp_path: Path, frames: Frames) -> None:
    parts = []
    for seed in ("0", "1", "2"):
        own = {world: frame[frame["seed"] == seed] for world, frame in frames.items()}
        parts.append(written(together(own), tmp_path / f"{seed}.csv"))
    whole = fsl_sweep.load_benchmarks(written(together(frames), tmp_path / "whole.csv"))
    joined = fsl_sweep.load_benchmarks(parts)
    assert sorted(joined) == sorted(whole)
    for world, run in joined.items():
        ours, theirs = (
            one.selections().sort_values(["seed", "snapshot_selector", "hyperparameter_selector"])
            for one in (run, whole[world])
        )
        columns = ["seed", "trial", "epoch", "novel", "novel_low", "regret"]
        assert ours[columns].values.tolist() == theirs[columns].values.tolist()
    # A table without the column is a world by the name of its file.
    plain = written(frames["cub"], tmp_path / "omniglot.csv")
    assert list(open_worlds([plain, written(frames["cub"], tmp_path / "b.csv")])) == [
        "omniglot",
        "b",
    ]
    with pytest.raises(RunFolderError, match="differ in the names of their tasks"):
        open_worlds([tmp_path / "whole.csv", plain])


def test_worlds_are_no_one_run(tmp_path: Path) -> None:
    both = made().assign(world=["a", "b"] * 48)
    table = written(both, tmp_path / "both.csv")
    with pytest.raises(
        RunFolderError, match=r"both\.csv holds 2 worlds.*fsl_sweep\.load_benchmarks"
    ):
        fsl_sweep.load_run(table)
    one = written(made().assign(world="a"), tmp_path / "one.csv")
    run = fsl_sweep.load_run(one)
    assert run.name == "one (a)"
    same(run, fsl_sweep.load_run(written(made(), tmp_path / "plain.csv")), bootstrap=0)
    with pytest.raises(RunFolderError, match=r"one\.csv: this is one world, 'a'"):
        open_worlds([one])
    other = written(made().assign(world="b"), tmp_path / "other.csv")
    with pytest.raises(RunFolderError, match=r"differ in world .a and b.*report --worlds`"):
        fsl_sweep.load_run([one, other])
    with pytest.raises(RunFolderError, match="given twice"):
        open_worlds([one, one])
    with pytest.raises(RunFolderError, match="No run is given"):
        open_worlds([])


@pytest.mark.parametrize(
    ("columns", "many"),
    [({}, False), ({"world": "a"}, False), ({"world": ["a", "b"] * 48}, True)],
)
def test_whether_there_are_worlds_reads_one_column(
    tmp_path: Path, columns: dict[str, Sequence[str] | str], many: bool
) -> None:
    # What does not fit elsewhere is not looked at.
    frame = made().assign(accuracy="x", **columns)  # pyright: ignore[reportArgumentType]
    frame.to_parquet(tmp_path / "t.parquet")
    for path in (written(frame, tmp_path / "t.csv"), tmp_path / "t.parquet"):
        assert has_worlds([path]) == many


def test_whether_there_are_worlds_leaves_errors_to_the_report(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "notes.txt").write_text("world")
    for name in ("broken.parquet", "empty.csv", "notes.txt", "missing.csv", "."):
        assert not has_worlds([tmp_path / name])


Spoil = Callable[[pd.DataFrame], pd.DataFrame]
BAD: list[tuple[Spoil, str]] = [
    (
        lambda f: f.assign(accuracy=f["accuracy"].mask(f.index == 7, 2)),
        "row {7}: accuracy '2.0' is",
    ),
    (lambda f: f.assign(epoch=f["epoch"].mask(f.index == 7, -1)), "row {7}: epoch '-1' must be"),
    (lambda f: pd.concat([f, f.iloc[[7]]]), "row {96} repeats row {7}"),
    (lambda f: f.drop(index=7), r"A \(configuration small, seed 0\) has no novel at epoch 5"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD, ids=[message for _, message in BAD])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_does_not_fit_is_told_with_world_and_row(
    tmp_path: Path, spoil: Spoil, message: str, ending: str
) -> None:
    """Rows 0 to 3 are of one world, all others of another."""
    frame = made()
    one = frame.iloc[:4].assign(world="one")
    spoiled = spoil(pd.concat([one, frame.iloc[4:].assign(world="big")]))
    path = tmp_path / f"t.{ending}"
    spoiled.to_csv(path, index=False) if ending == "csv" else spoiled.astype(str).to_parquet(path)
    numbered = re.sub(r"\{(\d+)\}", lambda m: str(int(m[1]) + 1 + (ending == "csv")), message)
    with pytest.raises(BadData, match=rf"t\.{ending}: world 'big': {numbered}"):
        open_worlds([path])


def test_every_row_has_a_world(tmp_path: Path) -> None:
    for value, problem in (("", "is empty"), ("a ", "ends with a space"), ("a\x1b", "control")):
        frame = made().assign(world=["a"] * 5 + [value] + ["b"] * 90)
        with pytest.raises(BadData, match=rf"row 7: world.*{problem}"):
            open_worlds([written(frame, tmp_path / "t.csv")])
