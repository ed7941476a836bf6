"""Whether selectors that are asked for by name can choose among a run's trials."""

from collections.abc import Callable, Sequence

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.paper_names import selector_names
from fsl_sweep.orchestrator.selectors.base import AnySelector, is_cross_validated
from fsl_sweep.orchestrator.selectors.catalogue import hyperparameter_selector, snapshot_selector

Names = tuple[str, ...]


def asked_for(
    snapshot: Sequence[str], hyperparameter: Sequence[str], folds: bool
) -> tuple[Names, Names]:
    """Our names of selectors, each of which stands for one, once, that has what it reads.

    Args:
        snapshot: names of snapshot selectors, as typed.
        hyperparameter: names of hyperparameter selectors.
        folds: whether the run has trials of class folds.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be had.
        ConfigError: a name is given twice, or its selector needs class folds and there are none.
    """
    return (
        _checked("--snapshot", snapshot, snapshot_selector, folds),
        _checked("--hyperparameter", hyperparameter, hyperparameter_selector, folds),
    )


def _checked(
    option: str, typed: Sequence[str], build: Callable[[str], AnySelector], folds: bool
) -> Names:
    try:
        names = tuple(selector_names(typed))
    except ValueError as failure:
        raise ConfigError("", option, str(failure)) from None
    for name in names:
        if is_cross_validated(build(name)) and not folds:
            problem = f"'{name}' needs class folds, which this run has none of; leave it out"
            raise ConfigError("", option, problem)
    return names
