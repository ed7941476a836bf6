"""The same methods on several benchmarks: each is what it would be by itself."""

from pathlib import Path

import pandas as pd
import pytest
from recorded import run_folder
from tables import assert_chose_alike, exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.replay.benchmarks import has_several_benchmarks, sources_by_benchmark
from fsl_sweep.orchestrator.run import Benchmarks, Run


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """Records of two benchmarks by name, per task."""
    place, frames = tmp_path_factory.mktemp("frames"), {}
    for number, name in enumerate(("omniglot", "cub")):
        seeds = (number, number + 1)
        folder = run_folder(place / name, (0.1, 0.01), seeds, shift=number, tasks=6 - number)
        table = exported(fsl_sweep.load_run(folder), place / f"{name}.csv")
        frames[name] = pd.read_csv(table, dtype=str, keep_default_na=False)
    return frames


def together(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One table, its rows mixed: those of a benchmark stay in their order."""
    both = pd.concat([rows.assign(benchmark=name) for name, rows in frames.items()])
    return both.sort_index(kind="stable")


def same(run: Run, other: Run, bootstrap: int = 10) -> None:
    pd.testing.assert_frame_equal(run.selections(), other.selections())
    ours, theirs = (one.report(bootstrap=bootstrap) for one in (run, other))
    assert ours.summaries == theirs.summaries
    assert ours.comparisons == theirs.comparisons
    assert list(map(str, ours.resampled)) == list(map(str, theirs.resampled))


@pytest.mark.parametrize(
    ("ending", "column"), [("csv", "benchmark"), ("parquet", "world"), ("csv", "world")]
)
def test_each_benchmark_is_the_table_of_its_rows(tmp_path, frames, ending, column) -> None:
    """Also by the former name of the column."""
    path = tmp_path / f"both.{ending}"
    mixed = together(frames).reset_index(drop=True).rename(columns={"benchmark": column})
    mixed = mixed.astype({column: "category"})
    mixed.to_csv(path, index=False) if ending == "csv" else mixed.to_parquet(path)
    assert has_several_benchmarks([path])
    runs = fsl_sweep.load_benchmarks(path)
    assert isinstance(runs, Benchmarks)
    assert (list(runs), len(runs), runs.name) == (["omniglot", "cub"], 2, "omniglot + cub")
    assert runs["cub"].name == "both (cub)"
    assert "mars" not in runs
    for name, run in runs.items():
        same(run, fsl_sweep.load_run(written(frames[name], tmp_path / f"{name}.csv")))


def test_run_folders_are_benchmarks_by_their_data(tmp_path) -> None:
    def folder(name: str, *seeds: int, data: str = "f00d", shift: int = 0) -> Path:
        return run_folder(tmp_path / name, (0.1, 0.01), seeds, fingerprint=data, shift=shift)

    first, more = folder("first", 0, 1), folder("more", 2)
    other = folder("other", 0, 1, data="beef", shift=1)
    runs = fsl_sweep.load_benchmarks([first, other, more])
    # Two runs of one benchmark are no two benchmarks.
    assert list(runs) == ["first + more", "other"]
    same(runs["first + more"], fsl_sweep.load_run([first, more]))
    same(runs["other"], fsl_sweep.load_run(other))
    namesake = folder("2/first", 0, data="cafe")
    names = [f"first ({first})", f"first ({namesake})"]
    assert list(sources_by_benchmark([first, namesake])) == names
    assert not has_several_benchmarks([first, other])
    with pytest.raises(RunFolderError, match=r"one benchmark, 'first \+ more', and.* two or more"):
        sources_by_benchmark([first, more])
    alike = r"differ in the data that .*, so .* `fsl-sweep report --benchmarks`"
    with pytest.raises(RunFolderError, match=alike):
        fsl_sweep.load_run([first, other])


def test_benchmarks_of_one_name_are_joined(tmp_path, frames) -> None:
    mixed = together(frames)
    parts = [written(rows, tmp_path / f"{seed}.csv") for seed, rows in mixed.groupby("seed")]
    complete = fsl_sweep.load_benchmarks(written(mixed, tmp_path / "complete.csv"))
    joined = fsl_sweep.load_benchmarks(parts)
    assert sorted(joined) == sorted(complete)
    for name, run in joined.items():
        assert_chose_alike(run, complete[name])
    # A table without the column is a benchmark by the name of its file.
    plain, other = (written(frames["cub"], tmp_path / f"{name}.csv") for name in ("omniglot", "b"))
    assert list(sources_by_benchmark([plain, other])) == ["omniglot", "b"]
    with pytest.raises(RunFolderError, match="differ in the names of their tasks"):
        sources_by_benchmark([tmp_path / "complete.csv", plain])


def test_a_single_benchmark_is_a_run_and_several_are_none(tmp_path, snapshot) -> None:
    one, other, both, former, plain = (
        written(made(**columns), tmp_path / f"{name}.csv")
        for name, columns in (
            ("one", {"benchmark": "a"}),
            ("other", {"world": "b"}),
            ("both", {"benchmark": ["a", "b"] * 48}),
            ("former", {"benchmark": "a", "world": "a"}),
            ("plain", {}),
        )
    )
    run = fsl_sweep.load_run(one)
    assert run.name == "one (a)"
    same(run, fsl_sweep.load_run(plain), bootstrap=0)
    messages = []
    for load, paths in (
        (fsl_sweep.load_run, [both]),
        (fsl_sweep.load_run, [former]),
        (fsl_sweep.load_run, [one, other]),
        *((sources_by_benchmark, paths) for paths in ([one], [former], [one, one], [])),
    ):
        with pytest.raises((RunFolderError, BadData)) as caught:
            load(paths)
        messages.append(str(caught.value).replace(f"{tmp_path}/", ""))
    assert "\n".join(messages) == snapshot


@pytest.mark.parametrize("column", ["benchmark", "world"])
def test_whether_there_are_benchmarks_reads_one_column(tmp_path, column) -> None:
    """What does not fit elsewhere is left to the report."""
    for values in (None, "a", ["a", "b"] * 48):
        frame = made(accuracy="x", **({column: values} if values else {}))
        frame.to_parquet(tmp_path / "t.parquet")
        for path in (written(frame, tmp_path / "t.csv"), tmp_path / "t.parquet"):
            assert has_several_benchmarks([path]) == isinstance(values, list)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "notes.txt").write_text(column)
    for name in ("broken.parquet", "empty.csv", "notes.txt", "missing.csv", "."):
        assert not has_several_benchmarks([tmp_path / name])
