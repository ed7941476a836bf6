"""What all parts of a specification share: their base class, names with options, digests."""

import hashlib
import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from fsl_sweep.orchestrator.text.printed import unfit


def _printable(text: str) -> str:
    if (character := unfit(text)) is not None:
        raise ValueError(f"{text!r} holds the control character {character}")
    return text


Text = Annotated[str, AfterValidator(_printable)]
"""A text of one line without control characters."""
MOST = 1_000_000
"""No count of a sweep is larger; memory is taken for some before anything else is checked."""
Count = Annotated[int, Field(ge=1, le=MOST)]
Epochs = Annotated[int, Field(ge=1, le=100_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Model(BaseModel):
    """Base of every part: read-only, no unknown keys, no silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Named(Model):
    """A catalogue entry and the options that it was given."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Return all keys except ``name``."""
        return dict(self.model_extra or {})


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a plain value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any, length: int = 16) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a plain value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
