"""Initial weights from a file: which of its tensors are the network's, and what does not fit."""

import hashlib
import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure

KEY = "backbone.weights"

# A published file may hold the weights under one of these, beside the state of an optimizer.
_WRAPPERS = ("state_dict", "model")
# First words in the names of classifiers.
_CLASSIFIERS = ("fc", "classifier", "head", "heads", "linear", "logits")
_SHOWN = 3


def load_weights(backbone: Backbone, path: str, sha256: str | None) -> list[str]:
    """Give a backbone the weights of a file, whose checksum is ``sha256`` if one is given.

    A file whose name ends in ``.safetensors`` has that format; another is read by `torch.load` with
    ``weights_only=True``. Names in it may have a common prefix (``module.``, ``backbone.``).
    Integer buffers (counters, seeds, index tables) stay as the backbone was built with.

    Returns:
        Names of what the file holds besides, such as a classifier's weights.

    Raises:
        ConfigError: it is not a file of weights, or they are another architecture's.
        BadData: it is no plain file.
        MachineFailure: it cannot be read, or has another checksum than when it was planned.
    """
    tensors = _tensors(_content(_data(path, sha256), path), path)
    whole = backbone.body.state_dict()
    wanted = {n: t for n, t in whole.items() if t.is_floating_point()}
    prefix = _prefix(tensors, wanted, path)
    part = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    extra = part.keys() - wanted.keys()
    head = {name for name in extra if _of_a_classifier(name, part, backbone.feature_dim)}
    if problems := differences(part, wanted, sorted(extra - head)):
        raise ConfigError(
            "",
            KEY,
            f"'{path}' holds weights of another architecture: {'; '.join(problems)}. Choose the "
            "backbone, with its options, that they were trained with",
        )
    chosen = {name: part[name] for name in wanted}
    whole.update(chosen)  # in place: it has the versions of layers, which some ask for
    backbone.body.load_state_dict(whole)
    return sorted(name for name in tensors if name.removeprefix(prefix) not in chosen)


def _data(path: str, sha256: str | None) -> bytes:
    check_plain(Path(path))
    try:
        data = Path(path).read_bytes()
    except OSError as failure:
        problem = f"The weights '{path}' cannot be read: {failure.strerror or failure}."
        raise MachineFailure(f"{problem} Every node needs the file at that path.") from failure
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise MachineFailure(
            f"The weights '{path}' are not those that the sweep was planned with: the file was "
            "changed, or this node has another. Restore the original, or run the sweep again."
        )
    return data


def _content(data: bytes, path: str) -> Any:
    try:
        if path.endswith(".safetensors"):
            return safetensors.torch.load(data)
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as failure:  # both raise many kinds of errors
        form = "safetensors" if path.endswith(".safetensors") else "torch.load(weights_only=True)"
        problem = f"'{path}' is not a file of weights that {form} can read"
        advice = "save only the network's state_dict() in a file"
        raise ConfigError("", KEY, f"{problem}; {advice}") from failure


def _tensors(content: Any, path: str) -> dict[str, Tensor]:
    """Return the floating-point tensors by their names."""
    outer = content if isinstance(content, Mapping) else {}
    inner = (outer[key] for key in _WRAPPERS if isinstance(outer.get(key), Mapping))
    tensors = {
        str(name): tensor
        for name, tensor in next(inner, outer).items()
        if isinstance(tensor, Tensor) and tensor.is_floating_point()
    }
    if not tensors:
        held = f"keys: {_named(map(str, outer))}" if outer else type(content).__name__
        problem = f"'{path}' holds no named weights ({held})"
        raise ConfigError("", KEY, f"{problem}; save the network's state_dict() in a file")
    if empty := [n for n, t in tensors.items() if t.layout != torch.strided or t.is_meta]:
        problem = f"'{path}' holds {len(empty)} sparse tensors, or ones without values (meta)"
        raise ConfigError("", KEY, f"{problem} ({_named(empty)}); save them dense, from the CPU")
    return tensors


def _prefix(names: Iterable[str], wanted: Collection[str], path: str) -> str:
    """Return what precedes most of the wanted names in a file, such as ``module.``."""
    counts = Counter(
        name.removesuffix(end) for name in names for end in wanted if f".{name}".endswith(f".{end}")
    )
    most = max(counts.values(), default=0)
    best = [prefix for prefix, count in counts.items() if count == most]
    if len(best) > 1 and most == len(wanted) and "" not in best:
        places = _named(repr(prefix) for prefix in best)
        problem = f"'{path}' holds several networks of this kind, whose names begin with {places}"
        raise ConfigError("", KEY, f"{problem}; save only one of them in a file")
    return min(best, key=len, default="")


def _of_a_classifier(name: str, part: Mapping[str, Tensor], width: int) -> bool:
    """Check whether it is a weight or bias of a layer from features to classes."""
    stem, _, last = name.rpartition(".")
    first = name.partition(".")[0].lower()
    weight = part.get(f"{stem}.weight")
    if first.startswith("aux"):  # which torchvision's models train in addition
        return True
    if last not in ("weight", "bias") or weight is None or weight.ndim not in (2, 4):
        return False
    inputs = weight[0].numel()  # of a linear layer, or of a 1x1 convolution
    return inputs == weight.shape[1] and (inputs == width or first in _CLASSIFIERS)


def differences(
    tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor], extra: Collection[str]
) -> list[str]:
    """Say what keeps the tensors of a file from being a network's; ``extra`` has no place in it."""
    missing = [name for name in wanted if name not in tensors]
    other = [
        f"{name}: {list(tensors[name].shape)}, not {list(tensor.shape)}"
        for name, tensor in wanted.items()
        if name in tensors and tensors[name].shape != tensor.shape
    ]
    return [
        f"{len(names)} of {total} {kind} ({_named(names)})"
        for names, total, kind in (
            (missing, len(wanted), "missing"),
            (other, len(wanted), "of another shape"),
            (extra, len(tensors), "superfluous"),
        )
        if names
    ]


def _named(names: Iterable[str]) -> str:
    """List the first few names."""
    listed = list(names)
    more = f", and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
