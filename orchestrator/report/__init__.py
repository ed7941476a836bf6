"""One report, built once from the records, in several formats."""

from collections.abc import Callable, Mapping
from importlib import import_module

from fsl_sweep.orchestrator.report.content import Report, RunInfo, build
from fsl_sweep.orchestrator.report.formats.terminal import show, to_text
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport


def _written_by(module: str, name: str) -> Callable[[Report | WorldsReport], str]:
    """A function of a format's module, which is loaded when it is called."""

    def write(report: Report | WorldsReport) -> str:
        return getattr(import_module(f"{__name__}.formats.{module}"), name)(report)

    return write


to_html = _written_by("html", "to_html")
to_json = _written_by("as_json", "to_json")
to_latex = _written_by("latex", "to_latex")
to_markdown = _written_by("markdown", "to_markdown")

FORMATS: Mapping[str, Callable[[Report | WorldsReport], str]] = {
    "terminal": to_text,
    "json": to_json,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
"""Each format by name: a function that gives the whole report as text, without colours."""

__all__ = [
    "FORMATS",
    "Report",
    "RunInfo",
    "WorldsReport",
    "build",
    "show",
    "to_html",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_text",
]
