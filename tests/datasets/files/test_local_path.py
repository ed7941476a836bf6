"""No address is taken for a folder, and no pipe or device for a file, wherever a path is given."""

import os
from pathlib import Path

import numpy as np
import pytest

import fsl_sweep
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

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


KINDS = {"pipe": "named pipe", "/dev/zero": "device"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("place", KINDS)
@pytest.mark.parametrize(
    "command",
    [
        "run {}",
        "run q.yaml --dry-run --set defaults.backbone.weights={}",
        "run q.yaml --dry-run --set measure.x.classes={}",
        "run f.yaml --dry-run --set benchmark.root={}",
        "run f.yaml --dry-run --set benchmark.split_file={}",
        *(f"data prepare {name} --from {{}}" for name in ("features", "image-folder", "cifar-fs")),
        "data prepare omniglot --from folder",
        "data check omniglot --root {}",
    ],
)
def test_a_pipe_or_a_device_is_refused_before_it_is_opened(
    command, place, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    os.mkfifo("pipe")
    Path("folder").mkdir()
    for part in ("images_background", "images_evaluation"):
        Path("folder", f"{part}.zip").symlink_to(tmp_path / place)
    np.savez("f.npz", features=np.ones((6, 3)), labels=np.arange(6))
    Path("q.yaml").write_text(TINY.replace("omniglot", "glyphs"))
    features = TINY.replace("omniglot", "features, root: f.npz").replace("conv4", "identity")
    Path("f.yaml").write_text(features.replace("protonet", "ncc"))
    assert invoke(command.format(place).split()) == 2
    err = capsys.readouterr().err
    assert f"is a {KINDS[place]}, not a file; copy it into a file" in err
    assert err.count("\n") == 1


def test_a_device_is_no_snapshot():
    with pytest.raises(BadData, match="/dev/zero is a device, not a file"):
        fsl_sweep.load_learner("/dev/zero")


def test_a_pipe_of_the_shell_may_be_the_sweep_file(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, TINY.encode())
    os.close(writer)
    assert load_sweep(f"/dev/fd/{reader}").config.name == "tiny"
    os.close(reader)
