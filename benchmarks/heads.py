"""Heads: the SVM's solver against qpth, and ridge against one batched Cholesky solve.

Targets, at a batch of 8 tasks in float32 on one thread: the SVM at least 6 times faster than qpth
with 15 iterations, forward and forward + backward, at 5-way 5-shot; ridge within 1.2 times of the
Cholesky solve. qpth lives in an environment of its own (``pip install torch qpth``):
``python -m benchmarks.heads --peers PATH_TO_ITS_PYTHON``; without it only our times are shown.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.timing import hardware, medians
from fsl_sweep.learners.heads import ridge, svm

BATCH, FEATURES, C = 8, 64, 0.1
# Way, shot, and rounds: qpth's time grows with the cube of way * shot.
SHAPES = [(5, 1, 31), (5, 5, 21), (5, 15, 5), (20, 5, 5)]
# qpth needs minutes and gigabytes for one solve of 2,000 variables.
LARGEST_OF_QPTH = 5 * 5 * 15


class Peer:
    """qpth in its own interpreter, on problems handed over in files."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.folder = folder
        script = Path(__file__).with_name("qpth_peer.py")
        self.process = subprocess.Popen(
            [python, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what: str, name: str) -> None:
        """Have problem ``name`` solved, ``forward`` or ``backward``; returns when it is."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what} {name}\n")
        self.process.stdin.flush()
        if self.process.stdout.readline().strip() != "done":
            raise RuntimeError("qpth's process ended; its message is above.")

    def solution(self, name: str) -> Tensor:
        """What it answered last."""
        return torch.from_numpy(np.load(self.folder / f"{name}.solution.npy"))

    def close(self) -> None:
        """Ends the process."""
        self.process.communicate()


def problem(way: int, shot: int) -> tuple[Tensor, Tensor]:
    """Kernels ``[8, m, m]`` of non-negative features, and targets ``[8, m, way]``."""
    draws = torch.Generator().manual_seed(0)
    centres = torch.randn(BATCH, way, 1, FEATURES, generator=draws)
    noise = torch.randn(BATCH, way, shot, FEATURES, generator=draws)
    support = (0.5 * centres + noise).relu().flatten(1, 2)
    targets = ridge.one_hot_targets(way, shot, like=support)
    return support @ support.mT, targets.repeat(BATCH, 1, 1)


def compare_svm(way: int, shot: int, runs: int, peer: Peer | None) -> None:
    """Times one shape, and prints it."""
    kernel, targets = problem(way, shot)
    weight = torch.randn(targets.shape, generator=torch.Generator().manual_seed(1))
    name = f"{way}w{shot}s"

    def backward() -> None:
        leaf = kernel.clone().requires_grad_()
        (svm.solve_dual(leaf, targets, C).value * weight).sum().backward()

    candidates: dict[str, Callable[[], object]] = {
        "forward": lambda: svm.solve_dual(kernel, targets, C),
        "backward": backward,
    }
    with_peer = peer is not None and targets[0].numel() <= LARGEST_OF_QPTH
    if peer is not None and with_peer:
        file = peer.folder / f"{name}.npz"
        np.savez(file, kernel=kernel.numpy(), targets=targets.numpy(), weight=weight.numpy())
        candidates["qpth forward"] = lambda: peer.ask("forward", name)
        candidates["qpth backward"] = lambda: peer.ask("backward", name)
    seconds = medians(candidates, runs)
    solution = svm.solve_dual(kernel, targets, C)
    line = f"| {name} | {solution.steps} | {solution.residual.max():.0e} "
    for what in ("forward", "backward"):
        line += f"| {1e3 * seconds[what]:.2f} "
        theirs = seconds.get(f"qpth {what}", float("nan"))
        line += f"| {1e3 * theirs:.0f} | {theirs / seconds[what]:.1f} " if with_peer else "| - | - "
    if peer is not None and with_peer:
        best = objective(kernel, targets, solution.value)
        excess = (objective(kernel, targets, peer.solution(name)) - best) / best.abs()
        line += f"| {excess.abs().max():.0e} |"
    else:
        line += "| - |"
    print(line, flush=True)


def objective(kernel: Tensor, targets: Tensor, value: Tensor) -> Tensor:
    """The dual's objective of each task, in float64."""
    kernel, targets, value = kernel.double(), targets.double(), value.double()
    quadratic = (value * (kernel @ value + value)).sum((1, 2)) / 2
    return quadratic - (targets * value).sum((1, 2))


def compare_ridge(way: int, shot: int) -> None:
    """Times one shape, and prints it."""
    kernel, targets = problem(way, shot)

    def cholesky() -> Tensor:
        system = kernel + 50 * torch.eye(kernel.shape[-1])
        return torch.cholesky_solve(2 * targets, torch.linalg.cholesky(system))

    with torch.no_grad():
        seconds = medians(
            {"ours": lambda: ridge.solve(kernel, targets, 50.0), "cholesky": cholesky}, 101
        )
    ours, theirs = 1e3 * seconds["ours"], 1e3 * seconds["cholesky"]
    print(f"| {way}w{shot}s | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Time the heads.")
    parser.add_argument("--peers", type=Path, help="Python of an environment that has qpth")
    peers = parser.parse_args(arguments).peers
    torch.set_num_threads(1)
    print(f"heads: batch of {BATCH}, {FEATURES} features, float32, {hardware()}, 1 thread\n")
    print("| svm | steps | KKT | forward ms | qpth | ratio | + backward ms | qpth | ratio | gap |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(peers, Path(folder)) if peers else None
        for way, shot, runs in SHAPES:
            compare_svm(way, shot, runs, peer)
        if peer is not None:
            peer.close()
    print("\n| ridge | solve ms | Cholesky solve ms | ratio |\n|---|---|---|---|")
    for way, shot, _ in SHAPES:
        compare_ridge(way, shot)


if __name__ == "__main__":
    main()
