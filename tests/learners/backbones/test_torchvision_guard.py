import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch

from fsl_sweep.learners.backbones import torchvision_guard
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision


def test_the_installed_torchvision_loads():
    assert callable(load_torchvision("torchvision.transforms.functional").hflip)


@pytest.fixture
def beside(monkeypatch):
    """Puts the guard beside a torchvision whose imports fail in turn; gives what is declared."""

    def put(failures):
        def imported(name):
            for failure in remaining:
                raise failure
            return ModuleType(name)

        remaining, declared = iter(failures), []
        monkeypatch.setattr(torchvision_guard, "import_module", imported)
        monkeypatch.setattr(torch.library, "define", lambda name, _: declared.append(name))
        return declared

    return put


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
    assert (caught.value, declared) == (failure, [])


ASK = """
import torch
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
module = load_torchvision()
print(module.__file__, [n for n in ("nms", "qnms") if hasattr(torch.ops.torchvision, n)])
"""


@pytest.mark.slow
def test_a_torchvision_that_lacks_an_operator_gets_that_one_only(tmp_path):
    package = tmp_path / "torchvision" / "__init__.py"
    package.parent.mkdir()
    lacking = "torch.library.register_fake('torchvision::qnms')(lambda *a: None)"
    package.write_text(f"import torch\n{lacking}\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", ASK]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout == f"{package} ['qnms']\n"
