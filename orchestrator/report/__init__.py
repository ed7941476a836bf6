"""One report, built once from the records, in several formats."""

from collections.abc import Callable, Mapping

from fsl_sweep.orchestrator.report.building import build
from fsl_sweep.orchestrator.report.content import Content, RunInfo
from fsl_sweep.orchestrator.report.document.main_table import methods_by_benchmarks
from fsl_sweep.orchestrator.report.formats import written
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.report.formats.html import to_html
from fsl_sweep.orchestrator.report.formats.latex import to_latex
from fsl_sweep.orchestrator.report.formats.markdown import to_markdown
from fsl_sweep.orchestrator.report.formats.terminal import show, to_text
from fsl_sweep.orchestrator.report.report import BenchmarksReport, Report

FORMATS: Mapping[str, Callable[[Content], str]] = {
    "terminal": to_text,
    "json": to_json,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
"""Each format by name: a function that gives the whole report as text, without colours."""


def main_table(report: Content, form: str = "latex") -> str:
    """Return methods by benchmarks as one table: in latex, markdown, html or terminal."""
    return written(form, methods_by_benchmarks(report), {})


__all__ = [
    "FORMATS",
    "BenchmarksReport",
    "Report",
    "RunInfo",
    "build",
    "main_table",
    "show",
    "to_html",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_text",
]
