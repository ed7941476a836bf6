"""Features of the images of a pool, from a frozen backbone computed once for all trials.

They depend on its weights, the pool and how images are prepared, and on what computes them. So they
are kept for further protocols, seeds, methods and runs, which get the same bits as if they computed
them. Only on a CPU, where the features of an image do not depend on its place in a chunk.
"""

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.store.features import kept_features
from fsl_sweep.learners.at_once import in_chunks
from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.dropblock import DropSchedule
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.shapes import Features
from fsl_sweep.learners.snapshot import VERSION
from fsl_sweep.orchestrator.catalogue import version_of
from fsl_sweep.orchestrator.measuring.images import PoolImages

_LIBRARIES = ("torch", "torchvision", "timm")
# First words of environment variables by which kernels are chosen.
_CHOOSING = ("ATEN_", "DNNL_", "MKL_", "ONEDNN_")


def embedded(
    learner: EmbeddingLearner[Any], images: PoolImages, indices: Int[np.ndarray, " n"]
) -> Features:
    """Return what `EmbeddingLearner.embed` gives for images, float32 ``[n, d]``.

    Args:
        learner: in evaluation mode.
        images: the pool.
        indices: of the images, at least one, each once.
    """
    if not _can_be_kept(learner, images):
        return images.through(learner.embed, indices).float()
    backbone = learner.backbone

    def compute(some: np.ndarray) -> np.ndarray:
        return images.through(backbone, some).float().numpy()

    kept = torch.from_numpy(kept_features(_key(backbone, images), indices, compute))
    rows = np.arange(len(kept))
    size = images.at_once.images
    return in_chunks(lambda some: learner.from_backbone(kept[some]), rows, size).float()


def _can_be_kept(learner: EmbeddingLearner[Any], images: PoolImages) -> bool:
    """Tell whether features are those of one frozen backbone, and take work to compute."""
    if type(learner).embed is not EmbeddingLearner.embed or images.device.type != "cpu":
        return False
    backbone: object = learner.backbone
    if not isinstance(backbone, Backbone) or not backbone.frozen or images.pool.holds_features:
        return False
    return backbone.has_weights


def _key(backbone: Backbone, images: PoolImages) -> str:
    """Digest all that features are known to depend on."""
    return canonical_digest(
        {
            "backbone": [type(backbone).__module__, type(backbone).__qualname__],
            "options": backbone.options.model_dump(
                mode="json", exclude={"weights", "weights_sha256"}
            ),
            "state": _state_digest(backbone),
            "images": images.preparation,
            "version": VERSION,
            "libraries": {name: version_of(name) for name in _LIBRARIES},
            "build": torch.__config__.show(),
            "threads": torch.get_num_threads(),
            "deterministic": torch.get_deterministic_debug_mode(),
            "precision": torch.get_float32_matmul_precision(),
            "processor": _processor(),
            "variables": {n: v for n, v in os.environ.items() if n.startswith(_CHOOSING)},
        }
    )


def _state_digest(backbone: Backbone) -> str:
    """Digest all parameters and buffers, but those of DropBlock's draws in training."""
    digest = hashlib.sha256()
    for path, module in backbone.named_modules():
        if isinstance(module, DropSchedule):
            continue
        for name, tensor in (*module.named_parameters("", False), *module.named_buffers("", False)):
            head = [path, name, str(tensor.dtype), list(tensor.shape)]
            digest.update(canonical_digest(head).encode())
            digest.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@cache
def _processor() -> list[str]:
    """Describe the processor: libraries choose kernels by what it can do."""
    kind = [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return [*kind, platform.processor()]
    facts = (line for line in first if line.startswith(("model", "stepping", "flags", "Features")))
    return [*kind, *facts]
