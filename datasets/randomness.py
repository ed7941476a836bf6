"""Named random generators, and rows drawn without repetition."""

import hashlib

import numpy as np


def named_generator(seed: int | None, *words: str) -> np.random.Generator:
    """Make a generator for one purpose, a function of only a seed and the purpose's words.

    The seed is None where it is one of the words.
    """
    key = hashlib.sha256("/".join(words).encode()).digest()
    entropy = [*([] if seed is None else [seed]), *np.frombuffer(key, dtype="<u4").tolist()]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def distinct(rng: np.random.Generator, population: np.ndarray, size: int) -> np.ndarray:
    """Draw for each row r an ordered sample without repetition from ``range(population[r])``.

    Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987), vectorised over rows,
    then a random order: every ordered sample has the same probability, and neither time nor
    memory depends on the population.

    ``population`` is int64 ``[R]``, each at least ``size``; the result is int64 ``[R, size]``.
    """
    last = population[:, None] - size + np.arange(size)  # (R, size): the value that j may reach
    drawn = rng.integers(0, last, endpoint=True)
    for step in range(1, size):
        taken = (drawn[:, :step] == drawn[:, step, None]).any(axis=1)
        drawn[taken, step] = last[taken, step]
    return rng.permuted(drawn, axis=1)
