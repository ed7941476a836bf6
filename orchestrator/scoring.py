"""From logits to counts of correct answers."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.orchestrator.errors import TrialFailure


def correct_counts(
    logits: Float[Tensor, "task m way"], target: Int[Tensor, "task m"]
) -> Int[np.ndarray, " task"]:
    """Correctly answered queries of each task.

    Raises:
        TrialFailure: some logits are not numbers. Their largest would still be some class, and a
            learner that has broken down would pass for one that guesses.
    """
    broken = int((~torch.isfinite(logits)).flatten(1).any(dim=1).sum())
    if broken:
        raise TrialFailure(
            f"the learner's answers to {broken} of {len(logits)} tasks are not numbers"
        )
    return (logits.argmax(dim=-1) == target).sum(dim=1).cpu().numpy()
