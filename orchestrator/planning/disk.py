"""What the weights of a plan's trials take on the disk, before anything is trained."""

import heapq
from collections.abc import Mapping
from typing import NamedTuple

import safetensors.torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.model import canonical_json
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_cross_validated

_DESCRIBED = 700
"""Bytes of a snapshot's description, about."""


class Disk(NamedTuple):
    """Bytes of the largest snapshot, of all at once while the sweep runs, and of what is kept.

    The last two are upper bounds where chosen snapshots are kept.
    """

    snapshot: int
    peak: int
    stays: int


def disk(plan: Plan, sizes: Mapping[str, int], at_once: int) -> Disk:
    """What a plan's weights take, where ``at_once`` trials run at the same time.

    ``sizes`` are of a snapshot of each trial, in bytes.
    """
    kept, most = plan.kept_while_training, _most_chosen(plan)
    ended, running = 0, []
    for trial, spec in plan.specs.items():
        epochs = len(spec.recorded_epochs)
        left = {"all": epochs, "chosen": min(epochs, most), "last": 1, "none": 0}[kept]
        # A trial writes an epoch's weights before it removes those of the one before.
        there = {"all": epochs, "chosen": epochs, "last": min(epochs, 2), "none": 0}[kept]
        ended += left * sizes[trial]
        running.append((there - left) * sizes[trial])
    peak = ended + sum(heapq.nlargest(at_once, running))
    return Disk(max(sizes.values()), peak, min(peak, _stays(plan, sizes, most)))


def snapshot_sizes(plan: Plan, benchmark: Benchmark, ledger: Ledger) -> dict[str, int] | None:
    """The bytes of a snapshot of each trial: of one that is there, else of its network as built.

    None where a program, whose network nobody can know, has no snapshot yet.
    """
    known: dict[tuple[str, str], int] = {}
    for trial, spec in plan.specs.items():
        storage = ledger.trial(trial)
        if _part(spec) not in known and (epochs := storage.snapshot_epochs()):
            known[_part(spec)] = storage.snapshot_size(epochs[0])
    for spec in plan.specs.values():
        if _part(spec) not in known:
            if issubclass(LEARNERS.find(spec.learner.name).cls, Metadl):
                return None
            known[_part(spec)] = _built_size(spec, benchmark)
    return {trial: known[_part(spec)] for trial, spec in plan.specs.items()}


def _part(spec: TrialSpec) -> tuple[str, str]:
    """What the number of weights depends on, but for the few of a learner's options."""
    return spec.learner.name, canonical_json(spec.backbone.model_dump())


def _built_size(spec: TrialSpec, benchmark: Benchmark) -> int:
    learner = build_learner(
        spec.learner.model_dump(),
        spec.backbone.model_dump(),
        benchmark.image_shape,
        benchmark.n_base_classes,
        0,
    )
    return len(safetensors.torch.save(learner.state_dict())) + _DESCRIBED


def _most_chosen(plan: Plan) -> int:
    """The most epochs of an ended trial that stay until all have ended."""
    first = [snapshot_selector(name) for name in plan.selectors.snapshot]
    second = [hyperparameter_selector(name) for name in plan.selectors.hyperparameter]
    if any(is_cross_validated(one) for one in [*first, *second]):
        return max(spec.epochs for spec in plan.specs.values())
    return len({*plan.selectors.snapshot, "oracle", "last"})


def _stays(plan: Plan, sizes: Mapping[str, int], most: int) -> int:
    if plan.keep == "none":
        return 0
    if plan.keep == "all":
        return sum(sizes[t] * len(spec.recorded_epochs) for t, spec in plan.specs.items())
    full = {trial: spec for trial, spec in plan.specs.items() if spec.fold is None}
    if plan.keep == "last":
        return sum(sizes[trial] for trial in full)
    replicates = {(one.method, one.spec.seed) for one in plan.trials}
    pairs = len({*plan.selectors.snapshot, "oracle"}) * len(
        {*plan.selectors.hyperparameter, "oracle"}
    )
    by_trial = sum(sizes[t] * min(len(spec.recorded_epochs), most) for t, spec in full.items())
    return min(by_trial, len(replicates) * pairs * max(sizes.values()))
