"""Options of a learner or a backbone: what a sweep file may write beside its ``name``."""

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """Abstract base of every options model: frozen, and an unknown key is an error.

    A learner's options are the keys of ``learner: {name: protonet, scale: 10}`` but ``name``.
    Values that do not fit raise ``pydantic.ValidationError``, which whoever read the sweep file
    turns into a message with file and key path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
