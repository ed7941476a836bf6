import os
import subprocess
import sys
from types import ModuleType

import pytest

from fsl_sweep.learners import torchvision_guard
from fsl_sweep.learners.torchvision_guard import load_torchvision

ASK = """
import torch
from fsl_sweep.learners.torchvision_guard import load_torchvision
module = load_torchvision()
declared = [name for name in ("nms", "qnms") if hasattr(torch.ops.torchvision, name)]
print(module.__file__, declared)
"""


class Importer:
    """Fails for each missing operator until it is declared."""

    def __init__(self, *missing):
        self.missing = list(missing)

    def __call__(self, name):
        if self.missing:
            raise RuntimeError(f"operator torchvision::{self.missing[0]} does not exist")
        return ModuleType(name)

    def declare(self, operator):
        self.missing.remove(operator)


def test_the_installed_torchvision_loads():
    functional = load_torchvision("torchvision.transforms.functional")
    assert callable(functional.hflip)
    assert load_torchvision("torchvision.transforms.functional") is functional


def test_each_missing_operator_is_declared_in_turn():
    importer = Importer("nms", "qnms", "roi_fold")
    module = torchvision_guard._load("torchvision", importer, importer.declare)
    assert module.__name__ == "torchvision"
    assert importer.missing == []


def test_nothing_is_declared_where_the_plain_import_works():
    importer, declared = Importer(), []
    torchvision_guard._load("torchvision", importer, declared.append)
    assert declared == []


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError("CUDA driver is too old"),
        RuntimeError("operator torchaudio::nms does not exist"),
        ModuleNotFoundError("No module named 'torchvision'"),
    ],
)
def test_every_other_failure_is_left_as_it_is(failure):
    def importer(name):
        raise failure

    with pytest.raises(type(failure)) as caught:
        torchvision_guard._load("torchvision", importer, pytest.fail)
    assert caught.value is failure


def test_endless_failure_ends_with_advice():
    def importer(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    with pytest.raises(ImportError, match="release that belongs to the installed torch"):
        torchvision_guard._load("torchvision", importer, lambda operator: None)


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
def test_a_torchvision_that_imports_is_left_alone(tmp_path):
    done = run_beside(tmp_path, "")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [f"{tmp_path}/torchvision/__init__.py", "[]\n"]


@pytest.mark.slow
def test_a_torchvision_that_lacks_an_operator_gets_that_one_alone(tmp_path):
    source = "import torch\ntorch.library.register_fake('torchvision::qnms')(lambda *a: None)\n"
    done = run_beside(tmp_path, source)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [f"{tmp_path}/torchvision/__init__.py", "['qnms']\n"]
