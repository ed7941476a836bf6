"""Conducting a study: its options are checked, the evidence is asked, and what is found is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final, get_origin

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.report.document.blocks import Document
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.sweepfile.messages import validated
from fsl_sweep.orchestrator.studies.base import Progress, Study, StudyOptions
from fsl_sweep.orchestrator.studies.catalogue import STUDIES

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.figures.panel import Figure


@final
@dataclass(frozen=True)
class Finding:
    """What a study found.

    Attributes:
        study: which study.
        result: what it says, as its own class.
        complete: whether nothing that is planned is missing from the run.
    """

    study: Study[Any, Any]
    result: Any
    complete: bool = True

    @cached_property
    def document(self) -> Document:
        """Return what every format for people shows."""
        with STUDIES.named_faults(self.study.name):
            return self.study.document(self.result)

    @cached_property
    def figures(self) -> "Mapping[str, Figure]":
        """Return drawings by the key of the section that they belong to, or ``answer``."""
        with STUDIES.named_faults(self.study.name):
            return self.study.figures(self.result)

    def to_plain(self) -> Any:
        """Return the result as plain data, as JSON holds it."""
        with STUDIES.named_faults(self.study.name):
            return self.study.plain(self.result)

    def __repr__(self) -> str:
        return f"<Finding of '{self.study.name}': {self.document.headline}>"

    def _repr_html_(self) -> str:
        # A format is not loaded before there is something to show.
        from fsl_sweep.orchestrator.report.formats.notebook import document_shown

        return document_shown(self.document, self.figures)


def prepared(
    name: str, written: Mapping[str, Any]
) -> tuple[Study[Any, Any], StudyOptions, dict[str, Any]]:
    """Return the study of a name, its options, and the parts of a question that were written.

    Raises:
        UnknownName, PluginError: there is no such study or option.
        ConfigError: an option cannot be used.
    """
    cls = STUDIES.find(name).cls
    with STUDIES.named_faults(name):
        study = cls()
    fields, options, asked = cls.Options.model_fields, dict[str, Any](), dict[str, Any]()
    for key, value in written.items():
        if key in fields:
            several = get_origin(fields[key].annotation) is list
            options[key] = _listed(value) if several else value
        elif key in cls.heeds:
            asked[key] = value
        else:
            raise UnknownName("option", key, [*fields, *cls.heeds])
    try:
        return study, validated(cls.Options, options), asked
    except ConfigError as mistake:
        key, *rest = mistake.path.split(".")
        flag = fields[key].alias or key.replace("_", "-") if key in fields else key
        positional = (fields[key].json_schema_extra or {}) if key in fields else {}
        shown = key.upper() if "argument" in positional else f"--{flag}"
        raise ConfigError("", ".".join([shown, *rest]), mistake.problem) from None


def conclude(
    study: Study[Any, Any], options: StudyOptions, progress: Progress, evidence: Evidence
) -> Finding:
    """Ask the evidence, and return what was found. Raises as ``Study.result``."""
    with STUDIES.named_faults(study.name):
        result = study.result(evidence, options, progress)
    return Finding(study, result, evidence.completeness.trained)


def _listed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return list(value)
    return [value]
