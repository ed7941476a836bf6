from contextlib import nullcontext
from types import ModuleType

import pytest
import torch

from fsl_sweep.learners.backbones import torchvision_guard
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision


@pytest.mark.parametrize(
    ("missing", "last"),
    [
        ([], None),
        (["first_fold", "second_fold", "third_fold"], None),
        (["another_fold"], RuntimeError("CUDA driver is too old")),
        ([], RuntimeError("operator torchaudio::nms does not exist")),
        ([], ModuleNotFoundError("No module named 'torchvision'")),
    ],
)
def test_missing_operators_are_declared_in_turn_and_other_failures_left(missing, last, monkeypatch):
    failures = [RuntimeError(f"operator torchvision::{name} does not exist") for name in missing]
    remaining = iter([*failures, *filter(None, [last])])

    def imported(name):
        for failure in remaining:
            raise failure
        return ModuleType(name)

    monkeypatch.setattr(torchvision_guard, "import_module", imported)
    assert not any(hasattr(torch.ops.torchvision, name) for name in missing)
    with pytest.raises(type(last)) if last else nullcontext() as caught:
        assert load_torchvision().__name__ == "torchvision"
    assert caught is None or caught.value is last
    assert all(hasattr(torch.ops.torchvision, name) for name in missing)
