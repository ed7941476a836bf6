"""A snapshot: a learner's weights and a description from which the learner is built again.

It is a safetensors file. Its metadata have one key, `KEY`, whose value is the description as JSON:
safetensors would write several keys in another order each time. Reading one executes nothing that
is in it: parts are found by their names in the catalogues.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import safetensors.torch
from pydantic import (
    BaseModel,
    ConfigDict,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)
from safetensors import SafetensorError, safe_open
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.nn.parameter import is_lazy

from fsl_sweep.learners.backbones.weights import differences
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.catalogue import version_of
from fsl_sweep.orchestrator.errors import BadData, UserError
from fsl_sweep.orchestrator.text.printed import one_line

KEY = "fsl-sweep"

VERSION = version_of(KEY) or "0+unknown"  # of a source tree that was never installed


class Description(BaseModel):
    """What a snapshot says about itself.

    Attributes:
        learner: ``name`` and options, as `build_learner` takes them.
        backbone: the same.
        image_shape: channels, height and width; of features their number, 1 and 1.
        pixel_mean: mean of each channel, in units where white is 1, as `Benchmark.pixel_mean`.
        pixel_std: deviation of each channel.
        holds_features: whether it was trained on features of a frozen extractor, not on images.
        n_base_classes: classes that it was trained on.
        trial, epoch: which training run, and after which of its epochs, counted from 1.
        version: of fsl-sweep, which wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    learner: dict[str, Any]
    backbone: dict[str, Any]
    image_shape: tuple[PositiveInt, PositiveInt, PositiveInt]
    pixel_mean: tuple[float, ...]
    pixel_std: tuple[PositiveFloat, ...]
    holds_features: bool
    n_base_classes: PositiveInt
    trial: str
    epoch: PositiveInt
    version: str

    @model_validator(mode="after")
    def _fits_itself(self) -> Self:
        channels = self.image_shape[0]
        if not len(self.pixel_mean) == len(self.pixel_std) == channels:
            raise ValueError(
                f"pixel_mean and pixel_std must have a number for each channel ({channels})"
            )
        return self


def snapshot_bytes(learner: nn.Module, description: Description) -> bytes:
    """Write a learner as it is; equal weights and descriptions give equal bytes."""
    state = {k: v.detach().cpu().contiguous() for k, v in learner.state_dict().items()}
    plain = json.dumps(description.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return safetensors.torch.save(state, {KEY: plain})


def restored(data: bytes, where: str) -> tuple[Learner[Any], Description]:
    """Read a snapshot: its learner, on the CPU and in evaluation mode, and its description.

    ``data`` is the content of the file, ``where`` what messages call it.

    Raises:
        BadData: it is no snapshot, is damaged, or holds other weights than it describes; or its
            learner is not installed or cannot be built.
    """
    try:
        tensors = safetensors.torch.load(data)
    except (SafetensorError, KeyError) as failure:  # KeyError: of a type that torch does not have
        raise BadData(
            f"{where} is not a complete safetensors file: {one_line(str(failure))}."
        ) from None
    description = _description(data, where)
    learner = _built(description, where, len(data))
    state = learner.state_dict()
    # An extra state, such as what a program saved, may have any length.
    state |= {n: t for n, t in tensors.items() if n in state and n.endswith("_extra_state")}
    if problems := differences(tensors, state, sorted(tensors.keys() - state.keys())):
        raise BadData(
            f"{where} does not hold the weights of the learner that it describes: "
            f"{one_line('; '.join(problems))}. The learner's code has changed since, or the file "
            "was altered."
        )
    learner.load_state_dict(tensors)
    return learner.eval(), description


def description_of(path: str) -> Description | None:
    """Read from its header what a snapshot says about itself; None of any other file."""
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(KEY)
        return None if text is None else Description.model_validate_json(text)
    except (SafetensorError, OSError, ValidationError):  # which is said where it is loaded
        return None


def _description(data: bytes, where: str) -> Description:
    # safetensors has checked the header: its length in 8 bytes, then JSON.
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    text = (header.get("__metadata__") or {}).get(KEY)
    if text is None:
        raise BadData(
            f"{where} holds weights but does not say of which learner: an earlier version of "
            "fsl-sweep or another program wrote it. Train again to have a snapshot that does."
        )
    try:
        return Description.model_validate_json(text)
    except ValidationError as failure:
        raise BadData(
            f"{where} describes its learner in a way that fsl-sweep {VERSION} does not understand "
            f"({_first(failure)}): it was altered, or another version wrote it."
        ) from None


def _built(description: Description, where: str, size: int) -> Learner[Any]:
    # The snapshot holds all weights: the file that training began with is not read.
    backbone = description.backbone | {"weights": None, "weights_sha256": None}
    shape, classes = description.image_shape, description.n_base_classes
    try:
        # More than the file holds: a torchvision model has a classifier until it is taken out.
        with _parameters_within(2 * size + 2**26):
            return build_learner(description.learner, backbone, shape, classes, seed=0)
    except UserError as failure:
        problem = str(failure)
    except ValidationError as failure:
        problem = _first(failure)
    except Exception as failure:  # a third party's learner may raise anything
        problem = f"{type(failure).__name__}: {failure}"
    raise BadData(f"{where}: its learner cannot be built: {one_line(problem)}")


@contextmanager
def _parameters_within(most: int) -> Iterator[None]:
    """Raise ValueError in modules that are built, before they fill so many bytes of parameters.

    Otherwise a file of a thousand bytes could ask for a network that no memory holds.
    """
    total = 0

    def count(module: nn.Module, name: str, parameter: nn.Parameter) -> None:  # noqa: ARG001
        nonlocal total
        total += 0 if is_lazy(parameter) else parameter.nbytes
        if total > most:
            raise ValueError("its network is larger than the file")

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def _first(failure: ValidationError) -> str:
    first = failure.errors(include_url=False)[0]
    return one_line(": ".join([*map(str, first["loc"]), first["msg"]]))
