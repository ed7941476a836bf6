"""No address is taken for a folder of this machine, wherever a path can be given."""

from pathlib import Path

import pytest
import yaml

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


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """What a command says that is refused and leaves no folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    Path("s.yaml").write_text(TINY)
    Path("q.yaml").write_text(TINY.replace("omniglot", "glyphs"))
    before = sorted(tmp_path.rglob("*"))

    def refused(*arguments: str) -> str:
        assert invoke(list(arguments)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return refused


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
        "trial q.yaml --index 0 -o {}",
        "data check omniglot --root {}",
        "data prepare omniglot --from {}",
        "data download omniglot --to {}",
    ],
)
def test_an_address_is_refused(refused, command: str):
    address = "s3://bucket/some/run"
    said = refused(*command.format(*[address] * 2).split())
    assert address in said
    assert "is an address" in said


def test_an_address_in_the_sweep_file_is_named_with_its_key(refused):
    tree = yaml.safe_load(TINY)
    tree["benchmark"]["root"] = "s3://b/data"
    Path("s.yaml").write_text(yaml.safe_dump(tree))
    assert "s.yaml: benchmark.root: s3://b/data is an address" in refused("run", "s.yaml")


def test_a_home_of_data_sets_is_no_address(refused, monkeypatch):
    monkeypatch.setenv("FSL_SWEEP_HOME", "s3://b/home")
    assert "s3://b/home is an address" in refused("data", "list")


def test_an_address_is_refused_in_a_notebook():
    with pytest.raises(RunFolderError, match=r"abfs\+x\.1-y://bucket/run is an address"):
        fsl_sweep.load_run("abfs+x.1-y://bucket/run")


@pytest.mark.parametrize("path", ["run", "/a/s3:/b", "C:/runs/x", "a:b", "s3", "a b://c", ""])
def test_paths_are_paths(path: str):
    check_local(path)
