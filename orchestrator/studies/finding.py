"""Conduct a study: check its options, ask the evidence, and show what is found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, final, get_origin

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.report import Report, formats
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.document import progress
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.studies.base import Drawings, Progress, Study, StudyOptions, declared
from fsl_sweep.orchestrator.studies.catalogue import STUDIES
from fsl_sweep.orchestrator.sweepfile.messages import validated

T = TypeVar("T")
FORMATS = ("terminal", "json", "markdown", "latex", "html")


@final
@dataclass(frozen=True)
class Finding:
    """What a study found.

    Attributes:
        study: which study.
        result: what it says, as its own class.
        evidence: what was asked; None where options said all that the study needs.
    """

    study: Study[Any, Any]
    result: Any
    evidence: Evidence | None = None

    @property
    def complete(self) -> bool:
        """Return whether every planned trial that takes part is done."""
        return self.evidence is None or self.evidence.completeness.trained

    def _shown(self, way: Callable[[Any], T]) -> T:
        with STUDIES.named_faults(self.study.name):
            return way(self.result)

    @cached_property
    def document(self) -> blocks.Document:
        """Return what every format for people shows: first what is missing, last what to doubt."""
        content = self._shown(self.study.document)
        sections = content.sections
        if content.warnings:
            cautions = blocks.Bullets(tuple(map(self._sentence, content.warnings)))
            sections += (blocks.Section("cautions", "Cautions", (cautions,)),)
        banner = (*self._missing(), *content.banner)
        return replace(
            content, banner=banner, sections=sections, complete=self.complete, opened=True
        )

    def _sentence(self, caution: str) -> str:
        """Begin with a capital letter, unless a method does, and end with a full stop."""
        known = [] if self.evidence is None else [trial.method for trial in self.evidence.histories]
        begins = caution.partition(" ")[0]
        first = caution[0] if begins in known else caution[0].upper()
        return f"{first}{caution[1:]}".removesuffix(".") + "."

    def _missing(self) -> Iterable[blocks.Block]:
        """Say of which trials the finding is, where these are not all."""
        if self.evidence is None:
            return
        if (info := self.evidence.source.info).stands_in:
            yield blocks.Paragraph(f"Of {info.name}.", "note")
        if text := self.evidence.question.scope:
            yield blocks.Paragraph(text, "note")
        if not self.complete:
            there = self.evidence.completeness
            yield from progress(there)
            partly = [there.named(method) for method in there.seeds if there.partial(method)]
            if partly:
                yield blocks.Paragraph(
                    f"Methods with incomplete seeds: {', '.join(partly)}.", "alarm"
                )

    @cached_property
    def figures(self) -> Drawings:
        """Return drawings by the key of the section that they belong to, or ``answer``."""
        return self._shown(self.study.figures)

    def to_plain(self) -> Any:
        """Return the result as plain data, as JSON holds it."""
        return self._shown(self.study.plain)

    def written(self, form: str) -> str:
        """Return all of it in a format: terminal, json, markdown, latex or html."""
        if form == "json":
            from fsl_sweep.orchestrator.report.formats.as_json import json_text, plain

            return json_text(plain(self.to_plain()), sort_keys=False)
        return formats.written(form, self.document, self.figures)

    def __repr__(self) -> str:
        return f"<Finding of '{self.study.name}': {self.document.headline}>"

    def _repr_html_(self) -> str:
        # A format is not loaded before there is something to show.
        from fsl_sweep.orchestrator.report.formats.html import document_shown

        return document_shown(self.document, self.figures)


def written_with(form: str, report: Report, findings: Sequence[Finding]) -> str:
    """Return a report with findings as further sections, or in JSON under ``studies``."""
    if form == "json":
        from fsl_sweep.orchestrator.report.formats.as_json import json_text, plain, to_plain

        studies = {finding.study.name: plain(finding.to_plain()) for finding in findings}
        return json_text(to_plain(report) | {"studies": studies})
    from fsl_sweep.orchestrator.report.document.document import document
    from fsl_sweep.orchestrator.report.figures.figures import figures

    report = report if form == "terminal" else report.unplaced()
    content, drawn = document(report), figures(report)
    sections = (finding.document.as_section(finding.study.name) for finding in findings)
    drawn |= {
        f.study.name: [x for figures in f.figures.values() for x in figures] for f in findings
    }
    return formats.written(form, replace(content, sections=(*content.sections, *sections)), drawn)


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
    fields, options, question = cls.Options.model_fields, dict[str, Any](), dict[str, Any]()
    for key, value in written.items():
        if key in fields:
            several = get_origin(fields[key].annotation) is list
            options[key] = _listed(value) if several else value
        elif key in cls.heeds:
            question[key] = value
        else:
            raise UnknownName("option", key, [*fields, *cls.heeds])
    try:
        return study, validated(cls.Options, options), question
    except ConfigError as mistake:
        key, *rest = mistake.path.split(".")
        known = key in fields and "argument" in declared(fields[key])
        shown = key.upper() if known else f"--{key.replace('_', '-')}"
        raise ConfigError("", ".".join([shown, *rest]), mistake.problem) from None


def conclude(
    study: Study[Any, Any], options: StudyOptions, remark: Progress, evidence: Evidence | None
) -> Finding:
    """Ask the evidence, and return what was found. Raises as ``Study.result``."""
    with STUDIES.named_faults(study.name):
        records: Any = evidence  # a study that needs none says so
        result = study.result(records, options, remark)
    return Finding(study, result, evidence)


def _listed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return list(value)
    return [value]
