import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch

from fsl_sweep.learners.backbones import torchvision_guard
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision

ASK = """
import torch
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
module = load_torchvision()
declared = [name for name in ("nms", "qnms") if hasattr(torch.ops.torchvision, name)]
print(module.__file__, declared)
"""


def importing(monkeypatch, failures):
    """The guard beside a torchvision whose imports fail in turn; gives what was declared."""
    declared = []

    def importer(name):
        if failures:
            raise failures.pop(0)
        return ModuleType(name)

    monkeypatch.setattr(torchvision_guard, "import_module", importer)
    monkeypatch.setattr(torch.library, "define", lambda name, _: declared.append(name))
    return declared


def missing(operator):
    return RuntimeError(f"operator torchvision::{operator} does not exist")


def test_the_installed_torchvision_loads():
    functional = load_torchvision("torchvision.transforms.functional")
    assert callable(functional.hflip)


@pytest.mark.parametrize("operators", [[], ["nms", "qnms", "roi_fold"]])
def test_each_missing_operator_is_declared_in_turn(monkeypatch, operators):
    declared = importing(monkeypatch, [missing(name) for name in operators])
    assert load_torchvision().__name__ == "torchvision"
    assert declared == [f"torchvision::{name}" for name in operators]


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError("CUDA driver is too old"),
        RuntimeError("operator torchaudio::nms does not exist"),
        ModuleNotFoundError("No module named 'torchvision'"),
    ],
)
def test_every_other_failure_is_left_as_it_is(monkeypatch, failure):
    declared = importing(monkeypatch, [failure])
    with pytest.raises(type(failure)) as caught:
        load_torchvision()
    assert caught.value is failure
    assert declared == []


def test_endless_failure_ends_with_advice(monkeypatch):
    importing(monkeypatch, [missing("nms")] * 100)
    with pytest.raises(ImportError, match="release that belongs to the installed torch"):
        load_torchvision()


def run_beside(folder, source):
    """Runs ASK in a process of its own that finds ``source`` as torchvision."""
    package = folder / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_torchvision_that_lacks_an_operator_gets_that_one_alone(tmp_path):
    source = "import torch\ntorch.library.register_fake('torchvision::qnms')(lambda *a: None)\n"
    done = run_beside(tmp_path, source)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [f"{tmp_path}/torchvision/__init__.py", "['qnms']\n"]
