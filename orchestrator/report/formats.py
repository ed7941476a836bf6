"""The formats that a report is written in, by name."""

from collections.abc import Callable, Mapping

from fsl_sweep.orchestrator.report.as_json import to_json
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.html import to_html
from fsl_sweep.orchestrator.report.latex import to_latex
from fsl_sweep.orchestrator.report.markdown import to_markdown
from fsl_sweep.orchestrator.report.terminal import to_text

FORMATS: Mapping[str, Callable[[Report], str]] = {
    "terminal": to_text,
    "json": to_json,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
"""Each gives the whole report as text; ``terminal`` without colours."""
