"""Where every random number of a trial comes from: its id, a purpose, and an epoch."""

import hashlib

import numpy as np


def seed_sequence(trial: str, purpose: str, epoch: int = 0) -> np.random.SeedSequence:
    """The entropy of one purpose in one epoch of one trial.

    It depends on nothing else, so that a resumed trial draws what an uninterrupted one draws, and
    a new use of randomness does not change the others.
    """
    key = hashlib.sha256(f"{trial}/{purpose}".encode()).digest()
    return np.random.SeedSequence([*np.frombuffer(key, np.uint32).tolist(), epoch])


def generator(trial: str, purpose: str, epoch: int = 0) -> np.random.Generator:
    """A NumPy generator for one purpose in one epoch."""
    return np.random.default_rng(seed_sequence(trial, purpose, epoch))


def torch_seed(trial: str, purpose: str, epoch: int = 0) -> int:
    """A seed for a torch generator, in [0, 2^63)."""
    (word,) = seed_sequence(trial, purpose, epoch).generate_state(1, np.uint64)
    return int(word >> np.uint64(1))
