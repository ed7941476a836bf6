"""Runs in qpth's environment: solves the SVM's dual as MetaOptNet does, on request.

Reads lines ``forward NAME`` or ``backward NAME`` and answers ``done``; ``NAME.npz`` in the folder
that is the only argument holds kernel, targets and the weights of the loss.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from qpth.qp import QPFunction

C, ITERATIONS = 0.1, 15


def solve(kernel, targets):
    """A general quadratic programme of m * n variables: the kernel times I in blocks, plus I."""
    tasks, m, n = targets.shape
    hessian = torch.einsum("bij,kl->bikjl", kernel, torch.eye(n)).reshape(tasks, m * n, m * n)
    hessian = hessian + torch.eye(m * n)
    flat = targets.reshape(tasks, m * n)
    bounds = torch.eye(m * n).expand(tasks, -1, -1)
    sums = torch.einsum("ij,l->ijl", torch.eye(m), torch.ones(n)).reshape(m, m * n)
    solver = QPFunction(verbose=False, maxIter=ITERATIONS)
    sums = sums.expand(tasks, -1, -1)
    answer = solver(hessian, -flat, bounds, C * flat, sums, torch.zeros(tasks, m))
    return answer.view(tasks, m, n)


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    cache = {}
    for line in sys.stdin:
        what, name = line.split()
        if name not in cache:
            arrays = np.load(folder / f"{name}.npz")
            cache = {name: {key: torch.from_numpy(arrays[key]) for key in arrays.files}}
        part = cache[name]
        if what == "forward":
            with torch.no_grad():
                answer = solve(part["kernel"], part["targets"])
            np.save(folder / f"{name}.solution.npy", answer.numpy())
        else:
            kernel = part["kernel"].clone().requires_grad_()
            (solve(kernel, part["targets"]) * part["weight"]).sum().backward()
        print("done", flush=True)


main()
