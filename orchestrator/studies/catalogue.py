"""The table of studies. A study of your own is a class and a line here, or an entry point."""

from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.catalogue import Catalogue, Ours

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.studies.base import Study

_TWO_SIDES = "Two Sides of Meta-Learning Evaluation"
_LESSONS = "Lessons from Chasing Few-Shot Learning Benchmarks"
_OOPS = "Oops, I Sampled it Again"


def _ours(name: str, cls: str, paper: str, description: str) -> Ours:
    """Return the line of a study, which has the module of its name."""
    place = f"fsl_sweep.orchestrator.studies.{name.replace('-', '_')}:{cls}"
    return Ours(name, place, paper, description)


STUDIES: "Catalogue[Study]" = Catalogue(
    "study",
    "fsl_sweep.studies",
    (
        _ours(
            "compare",
            "Compare",
            f"{_OOPS}, sections 3 and 4",
            "Say whether two methods are different.",
        ),
        _ours("plan-next", "PlanNext", "", "Say how many more seeds or tasks would decide."),
        _ours(
            "mixtures",
            "Mixtures",
            f"{_TWO_SIDES}, appendix E",
            "Compare methods from base to novel classes.",
        ),
        _ours(
            "base-and-novel",
            "BaseAndNovel",
            f"{_TWO_SIDES}, appendix F.4 (i)",
            "Compare methods in BaseGen and NovelGen together.",
        ),
        _ours(
            "queries",
            "Queries",
            f"{_OOPS}, section 4",
            "Say how many queries make open intervals shortest.",
        ),
        _ours(
            "novel-classes",
            "NovelClasses",
            f"{_TWO_SIDES}, section 5.2 and appendix F.6; {_LESSONS}, table 3",
            "Say how often a few novel classes mislead.",
        ),
        _ours("classes", "Classes", "", "Say which novel classes are hard, and taken for which."),
        _ours(
            "losses", "LossesStudy", f"{_LESSONS}, table 8", "Compute the losses of ML and FIX-ML."
        ),
        _ours(
            "coverage",
            "Coverage",
            f"{_TWO_SIDES}, appendix B",
            "Say whether tasks could be of one distribution.",
        ),
    ),
)
SHORT = ("compare", "plan-next", "coverage")
"""Studies that are commands of their own too: ``fsl-sweep compare`` for ``analyze compare``."""
