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


@pytest.fixture
def beside(monkeypatch):
    """Put the guard beside a torchvision whose imports fail in turn; gives what is declared."""

    def put(failures):
        failures, declared = list(failures), []

        def imported(name):
            if failures:
                raise failures.pop(0)
            return ModuleType(name)

        monkeypatch.setattr(torchvision_guard, "import_module", imported)
        monkeypatch.setattr(torch.library, "define", lambda name, _: declared.append(name))
        return declared

    return put


def test_the_installed_torchvision_loads():
    assert callable(load_torchvision("torchvision.transforms.functional").hflip)


@pytest.mark.parametrize("names", [[], ["nms", "qnms", "roi_fold"]])
def test_each_missing_operator_is_declared_in_turn(beside, names):
    operators = [f"torchvision::{name}" for name in names]
    declared = beside(RuntimeError(f"operator {name} does not exist") for name in operators)
    assert load_torchvision().__name__ == "torchvision"
    assert declared == operators


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError("CUDA driver is too old"),
        RuntimeError("operator torchaudio::nms does not exist"),
        ModuleNotFoundError("No module named 'torchvision'"),
    ],
)
def test_every_other_failure_is_left_as_it_is(beside, failure):
    declared = beside([failure])
    with pytest.raises(type(failure)) as caught:
        load_torchvision()
    assert caught.value is failure
    assert declared == []


@pytest.mark.slow
def test_a_torchvision_that_lacks_an_operator_gets_that_one_only(tmp_path):
    package = tmp_path / "torchvision" / "__init__.py"
    package.parent.mkdir()
    package.write_text(
        "import torch\ntorch.library.register_fake('torchvision::qnms')(lambda *a: None)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{package} ['qnms']\n"
