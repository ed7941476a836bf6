"""Whether selectors that are asked for by name can choose among a run's trials."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.selectors.base import is_cross_validated
from fsl_sweep.orchestrator.selectors.catalogue import hyperparameter_selector, snapshot_selector


def check_asked(snapshot: Sequence[str], hyperparameter: Sequence[str], folds: bool) -> None:
    """Whether each name stands for a selector, once, that has what it reads.

    Args:
        snapshot: names of snapshot selectors.
        hyperparameter: names of hyperparameter selectors.
        folds: whether the run has trials of class folds.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be had.
        ConfigError: a name is given twice, or its selector needs class folds and there are none.
    """
    for option, names, build in (
        ("--snapshot", snapshot, snapshot_selector),
        ("--hyperparameter", hyperparameter, hyperparameter_selector),
    ):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ConfigError("", option, f"'{name}' is given twice")
            if is_cross_validated(build(name)) and not folds:
                problem = f"'{name}' needs class folds, which this run has none of; leave it out"
                raise ConfigError("", option, problem)
