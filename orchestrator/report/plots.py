"""The report's figures for a notebook: ``run.plot.forest()`` and its like."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.report.report import Report

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.figures.sheet import Sheet

WIDTH = 17.8
"""Centimetres: two columns of a paper, or a page of a notebook."""


@final
class Plots:
    """Figures of one report, which is built when the first of them is asked for.

    Each is a matplotlib figure, ``width`` cm wide, that a notebook shows and ``savefig`` saves.
    """

    def __init__(self, build: Callable[..., Report], **options: Any) -> None:
        self._build, self._options = build, options

    def __call__(self, **options: Any) -> "Plots":
        """Return the figures of another report. Arguments and exceptions as of ``Run.report``."""
        return Plots(self._build, **self._options | options)

    @cached_property
    def _report(self) -> Report:
        return self._build(**self._options)

    def forest(self, width: float = WIDTH) -> "Sheet":
        """Draw methods by strategies with their intervals. Raises RunFolderError without any."""
        return self._sheet("answer", width, "no method has a complete seed with a chosen snapshot")

    def tradeoff(self, width: float = WIDTH) -> "Sheet":
        """Draw BaseGen and NovelGen of every configuration. Raises RunFolderError without any."""
        return self._sheet(
            "strategies",
            width,
            "no snapshot selector has all of its snapshots measured on the report tasks",
        )

    def differences(self, width: float = WIDTH) -> "Sheet":
        """Draw pairs of methods over seeds. Raises RunFolderError without any."""
        return self._sheet("differences", width, "it takes two methods with common report tasks")

    def curves(self, width: float = WIDTH) -> "Sheet":
        """Draw learning curves, with the chosen epochs. Raises RunFolderError without any."""
        return self._sheet("curves", width, "no trial is finished")

    def response(self, width: float = WIDTH) -> "Sheet":
        """Draw accuracy over each axis of the grid. Raises RunFolderError without any."""
        return self._sheet("response", width, "no method has a grid with two values or more")

    def budget(self, width: float = WIDTH) -> "Sheet":
        """Draw regret against novel evaluations. Raises RunFolderError without any."""
        return self._sheet("budget", width, "no strategy has a budget")

    def _sheet(self, key: str, width: float, lacking: str) -> "Sheet":
        from fsl_sweep.orchestrator.report.figures.figures import DRAWN
        from fsl_sweep.orchestrator.report.figures.sheet import sheet

        for figure in DRAWN[key](self._report):
            return sheet(figure, width)
        raise RunFolderError(f"{self._report.info.name} has nothing to draw there: {lacking}.")
