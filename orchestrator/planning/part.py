"""A learner, backbone or benchmark of a sweep file: looked up and checked once, then passed on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.sweepfile.messages import validated


@final
@dataclass(frozen=True, eq=False)
class Part:
    """What a section of a sweep file, such as ``{name: protonet, scale: 10}``, stands for.

    Attributes:
        cls: the class of that name.
        options: its options, checked and with every default filled in.
        named: the same as plain data, as recorded.
    """

    cls: Any
    options: Any
    named: Named

    @property
    def name(self) -> str:
        """Return its name in the catalogue."""
        return self.named.name


def resolved(
    catalogue: Catalogue[Any], section: Mapping[str, Any], path: str, axes: bool = True
) -> Part:
    """Look up the name of a section and check its options; ``axes`` as in `config_error`.

    Raises:
        ConfigError: no name, an unknown one, or a bad option; key paths begin with ``path``.
        PluginError: a plug-in's own check of its options raised another error.
    """
    name = section.get("name")
    if not isinstance(name, str):
        known = ", ".join(catalogue.names())
        raise ConfigError("", f"{path}.name", f"name one of: {known}.")
    try:
        cls = catalogue.find(name).cls
    except UnknownName as failure:
        raise ConfigError("", f"{path}.name", str(failure)) from None
    options = {key: value for key, value in section.items() if key != "name"}
    with catalogue.named_faults(name):
        options = validated(cls.Options, options, path, axes)
    plain = {"name": name, **options.model_dump(mode="json")}
    return Part(cls, options, Named.model_validate(plain))
