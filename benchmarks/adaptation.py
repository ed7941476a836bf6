"""FOMAML: the tasks of a training step one after the other, against all of them at once.

`torch.func.vmap` gives every task weights of its own and takes them through the network together;
the loop takes one task at a time. Which is faster decides `GradientAdaptation._together`. Prints
milliseconds of one training step (4 tasks, 5 inner steps, forward and backward) and their ratio:
``python -m benchmarks.adaptation``, on the GPU where there is one.
"""

from typing import Any

import torch

from benchmarks.timing import hardware, medians
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.methods.maml import GradientAdaptation

TASKS, WAY, QUERY, SIDE = 4, 5, 15, 28
CASES: list[tuple[str, dict[str, Any], int]] = [
    ("conv4-32", {"name": "conv4", "width": 32}, 1),
    ("conv4-32", {"name": "conv4", "width": 32}, 5),
    ("conv4-64", {"name": "conv4", "width": 64}, 1),
    ("identity (784 features)", {"name": "identity"}, 1),
]


def compare(label: str, backbone: dict[str, Any], shot: int, runs: int) -> None:
    """Times one case, and prints it."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    learner = build_learner({"name": "fomaml", "way": WAY}, backbone, (1, SIDE, SIDE), 64, 0)
    assert isinstance(learner, GradientAdaptation)
    learner.to(device).train()
    draws = torch.Generator().manual_seed(0)
    shapes = [(TASKS, WAY, each, 1, SIDE, SIDE) for each in (shot, QUERY)]
    batch = EpisodeBatch(*(torch.randn(*s, generator=draws).to(device) for s in shapes))

    def step(together: bool) -> None:
        learner._together = lambda device: together  # the choice that is measured
        learner.zero_grad(set_to_none=True)
        learner.training_loss(batch).backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    seconds = medians({"loop": lambda: step(False), "vmap": lambda: step(True)}, runs)
    loop, vmap = 1e3 * seconds["loop"], 1e3 * seconds["vmap"]
    print(f"| {label} | {WAY}w{shot}s | {loop:.0f} | {vmap:.0f} | {vmap / loop:.2f} |", flush=True)


def main(runs: int = 7) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"FOMAML, one training step of {TASKS} tasks, {hardware()}, 1 thread\n")
    print("| backbone | task | loop ms | vmap ms | vmap / loop |\n|---|---|---|---|---|")
    for case in CASES:
        compare(*case, runs)


if __name__ == "__main__":
    main()
