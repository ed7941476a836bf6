"""Versions, commit and hardware behind a run's numbers, for ``environment.json``."""

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("fsl-sweep", "ray", "torch", "torchvision", "numpy", "scipy", "pyarrow", "safetensors")


def environment() -> dict[str, Any]:
    """Versions, the project's git commit where it runs from a checkout, and the hardware."""
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*_PACKAGES, *_optional())},
        "commit": _commit(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "gpus": _gpus(),
    }


def _optional() -> list[str]:
    """Packages that only some backbones need, if planning has imported them."""
    return [name for name in ("timm",) if name in sys.modules]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _gpus() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
