"""The reports that users hold: their content, with what is said of it."""

from collections.abc import Mapping
from functools import cached_property
from typing import final

from fsl_sweep.orchestrator.report.answer.answer import answer_of
from fsl_sweep.orchestrator.report.cautions import cautions_of
from fsl_sweep.orchestrator.report.content import BenchmarksContent, RunContent
from fsl_sweep.orchestrator.report.formats.html import report_shown
from fsl_sweep.orchestrator.report.formats.terminal import to_text


@final
class Report(RunContent):
    """The report of a run.

    Attributes:
        answer: who wins, which strategy to choose by, and what would decide it.
        cautions: what to know before believing the numbers, as full sentences.
    """

    answer = cached_property(answer_of)
    cautions = property(cautions_of)
    _repr_html_ = report_shown

    def __str__(self) -> str:
        return to_text(self)


@final
class BenchmarksReport(BenchmarksContent):
    """The report of several benchmarks, on which the same methods were run; as of a run."""

    reports: Mapping[str, Report]
    answer = cached_property(answer_of)
    cautions = property(cautions_of)
    _repr_html_ = report_shown

    def __str__(self) -> str:
        return to_text(self)
