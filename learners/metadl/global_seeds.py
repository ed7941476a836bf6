"""The process's global random generators, seeded for programs that draw from them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded_globals(seed: int) -> Iterator[None]:
    """Seeds Python's, NumPy's and torch's generators for the block, then restores them."""
    devices = list(range(torch.cuda.device_count()))
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 (it is the point)
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
