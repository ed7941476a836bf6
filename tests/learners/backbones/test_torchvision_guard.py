import os
import subprocess
import sys
from contextlib import nullcontext
from types import ModuleType

import pytest
import torch

from fsl_sweep.learners.backbones import torchvision_guard
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision


@pytest.mark.parametrize(
    ("failures", "last"),
    [
        ([], None),
        (["torchvision::nms", "torchvision::qnms", "torchvision::roi_fold"], None),
        (["torchvision::nms"], RuntimeError("CUDA driver is too old")),
        ([], RuntimeError("operator torchaudio::nms does not exist")),
        ([], ModuleNotFoundError("No module named 'torchvision'")),
    ],
)
def test_missing_operators_are_declared_in_turn_and_other_failures_left(
    failures, last, monkeypatch
):
    remaining = [RuntimeError(f"operator {name} does not exist") for name in failures]
    remaining, declared = iter([*remaining, *filter(None, [last])]), []

    def imported(name):
        for failure in remaining:
            raise failure
        return ModuleType(name)

    monkeypatch.setattr(torchvision_guard, "import_module", imported)
    monkeypatch.setattr(torch.library, "define", lambda name, _: declared.append(name))
    with pytest.raises(type(last)) if last else nullcontext() as caught:
        assert load_torchvision().__name__ == "torchvision"
    assert caught is None or caught.value is last
    assert declared == failures


@pytest.mark.slow
def test_a_torchvision_that_lacks_an_operator_gets_that_one_only(tmp_path):
    package = tmp_path / "torchvision" / "__init__.py"
    package.parent.mkdir()
    lacking = "torch.library.register_fake('torchvision::qnms')(lambda *a: None)"
    package.write_text(f"import torch\n{lacking}\n")
    source = f"from {torchvision_guard.__name__} import *; print(load_torchvision().__file__)"
    declared = "print([n for n in ('nms', 'qnms') if hasattr(torch.ops.torchvision, n)])"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", f"{source}; {declared}"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout == f"{package}\n['qnms']\n"
