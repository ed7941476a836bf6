"""What a sweep file may say of every backbone: initial weights, and how images are normalised."""

import operator
from typing import Any

from pydantic import Field, FiniteFloat, PositiveFloat, field_validator, model_validator

from fsl_sweep.learners.options import Options

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


class Normalisation(Options):
    """Mean and deviation of each channel, in units where white is 1."""

    mean: list[FiniteFloat]
    std: list[PositiveFloat]

    @model_validator(mode="after")
    def _of_the_same_channels(self) -> "Normalisation":
        if len(self.mean) != len(self.std):
            raise ValueError(f"{len(self.mean)} means and {len(self.std)} deviations are given")
        return self


class BackboneOptions(Options):
    """Options of every backbone; unset ones stay out of a trial's specification.

    Attributes:
        weights: a file with the initial weights; without it they are drawn at random.
        weights_sha256: checksum of that file. Planning fills it in, so that a trial's id depends on
            the content of the file.
        frozen: whether the weights stay as they are.
        normalisation: None, which a sweep file calls ``benchmark``, is by the training images.
    """

    weights: str | None = Field(default=None, exclude_if=operator.not_)
    weights_sha256: str | None = Field(default=None, exclude_if=operator.not_)
    frozen: bool = Field(default=False, exclude_if=operator.not_)
    normalisation: Normalisation | None = Field(default=None, exclude_if=operator.not_)

    @field_validator("normalisation", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        names: dict[str, Any] = {"benchmark": None, "imagenet": IMAGENET}
        if isinstance(value, str) and value not in names:
            raise ValueError(f"must be benchmark, imagenet or {{mean: [...], std: [...]}}: {value}")
        return names[value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _checksum_of_a_file(self) -> "BackboneOptions":
        if self.weights is None and self.weights_sha256 is not None:
            raise ValueError("weights_sha256 is the checksum of 'weights', which is missing")
        return self
