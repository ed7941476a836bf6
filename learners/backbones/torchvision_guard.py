"""The only place that imports torchvision.

The package index's torchvision is linked against CUDA. With a torch without CUDA its extension does
not load, and ``import torchvision`` stops with ``operator torchvision::nms does not exist``: it
registers shape functions for operators that were never declared. Declaring them is enough, because
nothing here calls them. If torchvision imports without error, nothing is declared.
"""

import re
import warnings
from importlib import import_module
from types import ModuleType

import torch

_MISSING = re.compile(r"operator torchvision::(\w+) does not exist")
# The signature of nms and qnms. Another operator's may be wrong: without a kernel it cannot be
# called.
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def load_torchvision(module: str = "torchvision") -> ModuleType:
    """Import ``torchvision``, or a module of it, in a way that also works with a CPU torch."""
    while True:  # torch refuses to declare an operator twice
        try:
            with warnings.catch_warnings():
                # The same missing libraries; the image readers are not used here.
                warnings.filterwarnings("ignore", message="Failed to load image Python extension")
                return import_module(module)
        except RuntimeError as failure:
            missing = _MISSING.search(str(failure))
            if missing is None:
                raise
            torch.library.define(f"torchvision::{missing[1]}", _SIGNATURE)
