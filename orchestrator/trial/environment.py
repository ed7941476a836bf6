"""What changes the bits of a training besides its specification.

In equal environments a trial gives equal numbers. Paths, hosts and times do not count. Nothing here
imports torch before it is asked for a GPU or for threads.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.catalogue import version_of
from fsl_sweep.orchestrator.records.spec import TrialSpec

if TYPE_CHECKING:
    import torch

_PACKAGES = ("torch", "torchvision", "numpy", "scipy", "ray")


def environment_of(spec: TrialSpec, device: "torch.device") -> dict[str, str]:
    """Return what a trial is trained with in this process, on a device: each fact by its name."""
    import torch

    gpu = device.type == "cuda"
    facts = {
        "code": code_digest(),
        **{name: known for name in packages(_PACKAGES) if (known := version_of(name))},
        "threads": str(torch.get_num_threads()),
        "device": torch.cuda.get_device_name(device) if gpu else processor(),
    }
    parts = (LEARNERS, spec.learner), (BACKBONES, spec.backbone), (BENCHMARKS, spec.benchmark)
    known = [catalogue.provenance(part.name) for catalogue, part in parts]
    # By their packages: trials that use different ones are comparable all the same.
    plugins = {p["source"]: p["version"] for p in known if p["source"] != "fsl-sweep"}
    return {**facts, **plugins}


@cache
def code_digest() -> str:
    """Hash the package's source files with their places in it, once a process: 12 digits."""
    digest, root = hashlib.sha256(), Path(__file__).parents[2]
    # In a checkout its folders are links.
    walk = os.walk(root, followlinks=True)
    files = [Path(at, name) for at, _, names in walk for name in names if name.endswith(".py")]
    for place, path in sorted((path.relative_to(root).as_posix(), path) for path in files):
        digest.update(f"{place} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]


def packages(names: Iterable[str]) -> list[str]:
    """Add timm to packages where it is imported: only some backbones need it."""
    return [*names, *sys.modules.keys() & {"timm"}]


@cache
def processor() -> str:
    """Return the model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
