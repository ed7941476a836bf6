"""Methods that are programs: what a plan asks of them, and what it says about them."""

from collections.abc import Iterable, Mapping
from typing import Any

from fsl_sweep.learners.base import ProgramLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl import Metadl
from fsl_sweep.orchestrator.config import Named, ProgramConfig, TrialSpec
from fsl_sweep.orchestrator.errors import UnknownName


def is_program(learner: Any) -> bool:
    """Whether a method's ``learner`` section names a program; not where its name is wrong."""
    name = learner.get("name") if isinstance(learner, Mapping) else None
    try:
        return isinstance(name, str) and issubclass(LEARNERS.find(name).cls, ProgramLearner)
    except UnknownName:
        return False


def for_programs(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that mean something to a program: not the network's, nor the optimizer's."""
    return {key: value for key, value in defaults.items() if key in ProgramConfig.model_fields}


def begins_again(learner: Named, epochs: int) -> str | None:
    """A caution where an interrupted trial of a program cannot go on, else None."""
    cls = LEARNERS.find(learner.name).cls
    if epochs == 1 or not issubclass(cls, ProgramLearner):
        return None
    if cls.goes_on(cls.Options.model_validate(learner.options)):
        return None
    return (
        "its program cannot save what it needs to go on (a meta-learner's own save and load): a "
        "trial that is interrupted begins again from its first epoch"
    )


def submissions(specs: Iterable[TrialSpec]) -> set[str]:
    """The names of all submissions that trials run."""
    of_metadl = [spec.learner for spec in specs if LEARNERS.find(spec.learner.name).cls is Metadl]
    return {str(learner.options["submission"]) for learner in of_metadl}
