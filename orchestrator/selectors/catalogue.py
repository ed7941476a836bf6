"""The tables of selectors, and how a sweep file's name becomes a selector."""

from collections.abc import Callable, Set
from typing import Any, TypeVar

from fsl_sweep.orchestrator.catalogue import Catalogue, Info
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.records.paper_names import is_test_measure
from fsl_sweep.orchestrator.selectors import hyperparameter, snapshot
from fsl_sweep.orchestrator.selectors.base import (
    AnySelector,
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
)
from fsl_sweep.orchestrator.selectors.budgeted_oracle import BudgetedOracle
from fsl_sweep.orchestrator.selectors.history import SCORES
from fsl_sweep.orchestrator.selectors.names import parse
from fsl_sweep.orchestrator.selectors.third_party import GROUPS, broken_promise, faults_named, short

S = TypeVar("S", bound=AnySelector)


def _of(cls: type[S], section: str, description: str) -> Info[S]:
    return Info(cls.name, cls, f"Two Sides of Meta-Learning Evaluation, {section}", description)


SNAPSHOT_SELECTORS: Catalogue[SnapshotSelector] = Catalogue(
    "snapshot selector",
    GROUPS[0],
    (
        _of(snapshot.Last, "appendix F.1", "the end of training"),
        _of(snapshot.TrainLoss, "appendix F.1", "the lowest training loss"),
        _of(snapshot.BaseSnapshot, "section 5.1.2", "the best BaseGen"),
        _of(snapshot.ValSnapshot, "section 5.1.1", "the best ValGen"),
        _of(
            snapshot.CrossValidatedEpoch,
            "appendix F.5",
            "the epoch that is best on held-out class folds",
        ),
        _of(
            snapshot.MixtureSnapshot,
            "appendix F.4",
            "mixture(w): the best w BaseGen + (1 - w) ValGen",
        ),
        _of(snapshot.OracleSnapshot, "appendix F.3", "the best NovelGen (oracle)"),
    ),
)

HYPERPARAMETER_SELECTORS: Catalogue[HyperparameterSelector | FrontSelector] = Catalogue(
    "hyperparameter selector",
    GROUPS[1],
    (
        _of(hyperparameter.BaseConfiguration, "appendix F.1", "the best BaseGen"),
        _of(hyperparameter.ValConfiguration, "appendix F.1", "the best ValGen"),
        _of(
            hyperparameter.CrossValidated,
            "appendix F.5",
            "the best on held-out class folds; cv(aligned): at the same epoch",
        ),
        _of(
            hyperparameter.MixtureConfiguration,
            "appendix F.4",
            "mixture(w): the best w BaseGen + (1 - w) ValGen",
        ),
        _of(hyperparameter.OracleConfiguration, "appendix F.5", "the best NovelGen (oracle)"),
        _of(
            BudgetedOracle,
            "appendix F.5",
            "budgeted-oracle(b, top|per-configuration|halving, configurations|snapshots): the best "
            "NovelGen that b evaluations find (oracle)",
        ),
        _of(
            hyperparameter.Pareto,
            "appendix F.4",
            "all that are not dominated in BaseGen and NovelGen, shown apart (oracle)",
        ),
    ),
)

STEPS = {"snapshot": SNAPSHOT_SELECTORS, "hyperparameter": HYPERPARAMETER_SELECTORS}

_BLIND = frozenset(
    info.name for table in STEPS.values() for info in table.own if "novel" not in info.cls.needs
)
"""Our selectors that read no novel scores: only these are suggested for a misspelled name."""


def snapshot_selector(text: str) -> SnapshotSelector:
    """Make the selector called ``name``, or ``name(1, 0.5)`` with arguments.

    Raises:
        SelectorFault: a third party's class cannot be one, or fails to be constructed.
        ConfigError: the text is not of that form, or an argument cannot be used.
        UnknownName, PluginError: there is no such selector, or it fails to load.
    """
    return _built(SNAPSHOT_SELECTORS, text, (SnapshotSelector,))


def hyperparameter_selector(text: str) -> HyperparameterSelector | FrontSelector:
    """Make a selector as ``snapshot_selector`` does, for configurations."""
    return _built(HYPERPARAMETER_SELECTORS, text, (HyperparameterSelector, FrontSelector))


BUILD: dict[str, Callable[[str], AnySelector]] = {
    "snapshot": snapshot_selector,
    "hyperparameter": hyperparameter_selector,
}
"""What makes a selector of each step from its name."""


def _built(catalogue: Catalogue[S], text: str, kinds: tuple[type, ...]) -> S:
    name, arguments = parse(text)
    cls = _class(catalogue, name)
    with faults_named(cls):
        try:
            selector = cls(*arguments)
        except (TypeError, ValueError) as failure:
            problem = f"{catalogue.kind} '{text}' cannot be used: {failure}"
            raise ConfigError("", "", problem) from None
    _check(selector, kinds)
    return selector


def _class(catalogue: Catalogue[S], name: str) -> type[S]:
    """Find the class of that name; the message names the other step if it belongs there."""
    try:
        return catalogue.find(name).cls
    except UnknownName:
        if is_test_measure(name):
            problem = (
                f"{name} is the test measure: choosing by it is the oracle; write 'oracle' if "
                "that is meant"
            )
            raise ConfigError("", "", problem) from None
        for step, other in STEPS.items():
            if name in other.names():
                problem = (
                    f"'{name}' is a {other.kind}, not a {catalogue.kind}; write it under "
                    f"`selectors.{step}` of the sweep file, or as `--{step} {name}` of a report"
                )
                raise ConfigError("", "", problem) from None
        guarded = [known for known in catalogue.names() if known not in _BLIND]
        raise UnknownName(catalogue.kind, name, catalogue.names(), guarded) from None


def _check(selector: Any, kinds: tuple[type, ...]) -> None:
    """Check what a third party's selector declares."""
    needs = getattr(selector, "needs", None)
    if not isinstance(selector, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise broken_promise(selector, f"is listed as a {wanted}, but is not one")
    if not isinstance(getattr(selector, "name", None), str):
        raise broken_promise(selector, "has no `name`, which every selector has")
    if not isinstance(needs, Set) or not needs <= frozenset(SCORES):
        declared = "no `needs`" if needs is None else f"`needs` of {short(repr(needs))}"
        rule = f"it must be a frozenset of some of {', '.join(SCORES)}"
        raise broken_promise(selector, f"declares {declared}: {rule}")
