"""No address is taken for a folder of this machine, wherever a path can be given."""

from pathlib import Path

import pytest

import fsl_sweep
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError

TINY = """
name: tiny
benchmark: {name: omniglot}
defaults: {backbone: {name: conv4}, optimizer: {lr: 0.1}}
methods: {PN: {learner: {name: protonet}}}
"""
ADDRESS = "s3://bucket/some/run"


@pytest.mark.parametrize(
    "command",
    [
        "report {}",
        "report {}.csv",
        "report {} {}2",
        "report q.yaml -o {}.html",
        "status {}",
        "tensorboard {} --no-serve",
        "run q.yaml -o {}",
        "run q.yaml -o {} --dry-run",
        "run s.yaml --set benchmark.root={} --dry-run",
        "run a.yaml",
        "trial q.yaml --index 0 -o {}",
        "data check omniglot --root {}",
        "data prepare omniglot --from {}",
        "data download omniglot --to {}",
        "data list",
    ],
)
def test_an_address_is_refused_and_no_folder_is_made(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    home = f"{ADDRESS}/home" if command == "data list" else str(tmp_path / "home")
    monkeypatch.setenv("FSL_SWEEP_HOME", home)
    Path("s.yaml").write_text(TINY)
    Path("q.yaml").write_text(TINY.replace("omniglot", "glyphs"))
    Path("a.yaml").write_text(TINY.replace("omniglot", f"omniglot, root: '{ADDRESS}'"))
    before = sorted(tmp_path.rglob("*"))
    assert invoke(command.format(ADDRESS, ADDRESS).split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert ADDRESS in err
    assert "is an address" in err
    assert ("a.yaml: benchmark.root: s3:" in err) == (command == "run a.yaml")


def test_an_address_is_refused_in_a_notebook_and_paths_are_paths():
    with pytest.raises(RunFolderError, match=r"abfs\+x\.1-y://bucket/run is an address"):
        fsl_sweep.load_run("abfs+x.1-y://bucket/run")
    for path in ("run", "/a/s3:/b", "C:/runs/x", "a:b", "s3", "a b://c", ""):
        check_local(path)
