"""Methods in which there is nothing to train: features as they are, and a rule without weights."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.options import resolve
from fsl_sweep.orchestrator.errors import UserError

USED = ("learner", "backbone")
"""The sections of such a method's settings that mean something to it."""

UNTRAINED = {
    "optimizer": None,
    "schedule": [],
    "epochs": 1,
    "batches": 0,
    "augment": "none",
    "precision": "fp32",
    "train": None,
}
"""What stands in the specification of such a trial: one epoch without a step, measured once."""


def trains_nothing(learner: Any, backbone: Any) -> bool:
    """Whether neither has weights that answers depend on; not where a name or an option is wrong.

    Args:
        learner: a configuration's ``learner`` section, as it stands in the file.
        backbone: its ``backbone`` section.
    """
    if not isinstance(learner, Mapping) or not isinstance(backbone, Mapping):
        return False
    try:
        network, _ = resolve(BACKBONES, backbone)
        return not network.has_weights and not _has_weights(learner)
    except (UserError, ValidationError):
        return False


def unused(method: str, tree: Mapping[str, Any]) -> str | None:
    """A caution where a method itself sets what only training uses, else None."""
    keys = [key for key in tree if key not in USED]
    if not keys:
        return None
    return (
        f"{method}: it has nothing to train, so its {', '.join(keys)} "
        f"{'is' if len(keys) == 1 else 'are'} not used"
    )


def _has_weights(learner: Mapping[str, Any]) -> bool:
    cls, options = resolve(LEARNERS, learner)
    return cls.has_weights(options)
