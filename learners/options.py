"""Options of a learner or a backbone: what a sweep file may write next to its ``name``."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.errors import ConfigError


class Options(BaseModel):
    """Abstract base of every options model: frozen, and an unknown key is an error.

    A learner's options are the keys of ``learner: {name: protonet, scale: 10}`` without ``name``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def resolve(catalogue: Catalogue[Any], spec: Mapping[str, Any]) -> tuple[Any, Any]:
    """Find the class that ``spec["name"]`` names, and check the rest of ``spec`` as its options.

    Raises:
        UnknownName: nothing in the catalogue has that name.
        ConfigError: the name is missing.
        pydantic.ValidationError: the options do not fit.
    """
    if not isinstance(spec.get("name"), str):
        raise ConfigError(
            "", f"{catalogue.kind}.name", f"name one of: {', '.join(catalogue.names())}."
        )
    cls = catalogue.find(spec["name"]).cls
    options = {key: value for key, value in spec.items() if key != "name"}
    return cls, cls.Options.model_validate(options)
