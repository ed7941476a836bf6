"""The same methods on several benchmarks: each benchmark is what it would be by itself."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from recorded import run_folder
from tables import exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.replay.benchmarks import has_several_benchmarks, sources_by_benchmark
from fsl_sweep.orchestrator.run import Run, Worlds

Frames = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Records of two benchmarks by benchmark, per task."""
    place, found = tmp_path_factory.mktemp("frames"), {}
    for number, benchmark in enumerate(("omniglot", "cub")):
        seeds = (number, number + 1)
        folder = run_folder(place / benchmark, (0.1, 0.01), seeds, shift=number, tasks=6 - number)
        table = exported(fsl_sweep.load_run(folder), place / f"{benchmark}.csv")
        found[benchmark] = pd.read_csv(table, dtype=str, keep_default_na=False)
    return found


def together(frames: Frames) -> pd.DataFrame:
    """One table, its rows mixed: those of a benchmark stay in their order."""
    both = pd.concat([own.assign(benchmark=benchmark) for benchmark, own in frames.items()])
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
def test_each_benchmark_is_the_table_of_its_rows(
    tmp_path: Path, frames: Frames, ending: str
) -> None:
    path = tmp_path / f"both.{ending}"
    mixed = together(frames).reset_index(drop=True)
    mixed = mixed.astype({"benchmark": "category"})
    mixed.to_csv(path, index=False) if ending == "csv" else mixed.to_parquet(path)
    assert has_several_benchmarks([path])
    benchmarks = fsl_sweep.load_worlds(path)
    assert isinstance(benchmarks, Worlds)
    assert (list(benchmarks), len(benchmarks), benchmarks.name) == (
        ["omniglot", "cub"],
        2,
        "omniglot + cub",
    )
    assert benchmarks["cub"].name == "both (cub)"
    assert "mars" not in benchmarks
    for benchmark, run in benchmarks.items():
        same(run, fsl_sweep.load_run(written(frames[benchmark], tmp_path / f"{benchmark}.csv")))


def test_run_folders_of_several_benchmarks_are_benchmarks(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1, 0.01), (0, 1))
    more = run_folder(tmp_path / "more", (0.1, 0.01), (2,))
    other = run_folder(tmp_path / "other", (0.1, 0.01), (0, 1), fingerprint="beef", shift=1)
    benchmarks = fsl_sweep.load_worlds([first, other, more])
    # Two runs of one benchmark are no two benchmarks.
    assert list(benchmarks) == ["first + more", "other"]
    same(benchmarks["first + more"], fsl_sweep.load_run([first, more]))
    same(benchmarks["other"], fsl_sweep.load_run(other))
    namesake = run_folder(tmp_path / "2" / "first", (0.1, 0.01), (0,), fingerprint="cafe")
    assert list(sources_by_benchmark([first, namesake])) == [
        f"first ({first})",
        f"first ({namesake})",
    ]
    with pytest.raises(
        RunFolderError, match=r"one benchmark, 'first \+ more', and.*needs two or more"
    ):
        sources_by_benchmark([first, more])
    with pytest.raises(
        RunFolderError, match=r"differ in the data that .*, so .* `fsl-sweep report --worlds`"
    ):
        fsl_sweep.load_run([first, other])
    assert not has_several_benchmarks([first, other])


def test_benchmarks_of_one_name_are_joined(tmp_path: Path, frames: Frames) -> None:
    parts = []
    for seed in ("0", "1", "2"):
        own = {benchmark: frame[frame["seed"] == seed] for benchmark, frame in frames.items()}
        parts.append(written(together(own), tmp_path / f"{seed}.csv"))
    whole = fsl_sweep.load_worlds(written(together(frames), tmp_path / "whole.csv"))
    joined = fsl_sweep.load_worlds(parts)
    assert sorted(joined) == sorted(whole)
    for benchmark, run in joined.items():
        ours, theirs = (
            one.selections().sort_values(["seed", "snapshot_selector", "hyperparameter_selector"])
            for one in (run, whole[benchmark])
        )
        columns = ["seed", "trial", "epoch", "novel", "novel_low", "regret"]
        assert ours[columns].values.tolist() == theirs[columns].values.tolist()
    # A table without the column is a benchmark by the name of its file.
    plain = written(frames["cub"], tmp_path / "omniglot.csv")
    assert list(sources_by_benchmark([plain, written(frames["cub"], tmp_path / "b.csv")])) == [
        "omniglot",
        "b",
    ]
    with pytest.raises(RunFolderError, match="differ in the names of their tasks"):
        sources_by_benchmark([tmp_path / "whole.csv", plain])


def test_benchmarks_are_no_one_run(tmp_path: Path) -> None:
    both = made().assign(benchmark=["a", "b"] * 48)
    table = written(both, tmp_path / "both.csv")
    with pytest.raises(
        RunFolderError, match=r"both\.csv holds 2 benchmarks.*fsl_sweep\.load_worlds"
    ):
        fsl_sweep.load_run(table)
    one = written(made().assign(benchmark="a"), tmp_path / "one.csv")
    run = fsl_sweep.load_run(one)
    assert run.name == "one (a)"
    same(run, fsl_sweep.load_run(written(made(), tmp_path / "plain.csv")), bootstrap=0)
    with pytest.raises(RunFolderError, match=r"one\.csv: this is one benchmark, 'a'"):
        sources_by_benchmark([one])
    other = written(made().assign(benchmark="b"), tmp_path / "other.csv")
    with pytest.raises(RunFolderError, match=r"differ in the benchmark .a and b.*report --worlds`"):
        fsl_sweep.load_run([one, other])
    with pytest.raises(RunFolderError, match="given twice"):
        sources_by_benchmark([one, one])
    with pytest.raises(RunFolderError, match="No run is given"):
        sources_by_benchmark([])


@pytest.mark.parametrize(
    ("columns", "many"),
    [({}, False), ({"benchmark": "a"}, False), ({"benchmark": ["a", "b"] * 48}, True)],
)
def test_whether_there_are_benchmarks_reads_one_column(
    tmp_path: Path, columns: dict[str, Sequence[str] | str], many: bool
) -> None:
    # What does not fit elsewhere is not looked at.
    frame = made().assign(accuracy="x", **columns)  # pyright: ignore[reportArgumentType]
    frame.to_parquet(tmp_path / "t.parquet")
    for path in (written(frame, tmp_path / "t.csv"), tmp_path / "t.parquet"):
        assert has_several_benchmarks([path]) == many


def test_whether_there_are_benchmarks_leaves_errors_to_the_report(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "notes.txt").write_text("benchmark")
    for name in ("broken.parquet", "empty.csv", "notes.txt", "missing.csv", "."):
        assert not has_several_benchmarks([tmp_path / name])


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
def test_what_does_not_fit_is_told_with_benchmark_and_row(
    tmp_path: Path, spoil: Spoil, message: str, ending: str
) -> None:
    """Rows 0 to 3 are of one benchmark, all others of another."""
    frame = made()
    one = frame.iloc[:4].assign(benchmark="one")
    spoiled = spoil(pd.concat([one, frame.iloc[4:].assign(benchmark="big")]))
    path = tmp_path / f"t.{ending}"
    spoiled.to_csv(path, index=False) if ending == "csv" else spoiled.astype(str).to_parquet(path)
    numbered = re.sub(r"\{(\d+)\}", lambda m: str(int(m[1]) + 1 + (ending == "csv")), message)
    with pytest.raises(BadData, match=rf"t\.{ending}: benchmark 'big': {numbered}"):
        sources_by_benchmark([path])


def test_every_row_has_a_benchmark(tmp_path: Path) -> None:
    for value, problem in (("", "is empty"), ("a ", "ends with a space"), ("a\x1b", "control")):
        frame = made().assign(benchmark=["a"] * 5 + [value] + ["b"] * 90)
        with pytest.raises(BadData, match=rf"row 7: benchmark.*{problem}"):
            sources_by_benchmark([written(frame, tmp_path / "t.csv")])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_former_name_of_the_column_is_still_read(tmp_path: Path, ending: str) -> None:
    frame = made().assign(benchmark=["a"] * 48 + ["b"] * 48)
    for name, columns in (("new", frame), ("old", frame.rename(columns={"benchmark": "world"}))):
        path = tmp_path / name / f"t.{ending}"
        path.parent.mkdir()
        columns.to_csv(path, index=False) if ending == "csv" else columns.to_parquet(path)
        assert has_several_benchmarks([path])
    new, old = (sources_by_benchmark([tmp_path / name / f"t.{ending}"]) for name in ("new", "old"))
    assert list(new) == list(old) == ["a", "b"]
    for benchmark, source in new.items():
        same(Run(source), Run(old[benchmark]), bootstrap=0)
    both = written(frame.assign(world="a"), tmp_path / "both.csv")
    problem = r"both\.csv: columns 'benchmark' and 'world' mean the same; leave 'world' out\.$"
    for load in (fsl_sweep.load_run, fsl_sweep.load_worlds):
        with pytest.raises(BadData, match=problem):
            load(both)
