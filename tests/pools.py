"""Pools, counts and image files, for the tests of `datasets`."""

import io

import numpy as np
from PIL import Image

from fsl_sweep.datasets.pool import ImagePool


def blank_pool(labels, names=None, **more) -> ImagePool:
    """Black images of 1 x 2 x 2 pixels with these labels; ``names`` may be only their number."""
    labels = np.asarray(labels)
    if names is None or isinstance(names, int):
        names = [f"c{c}" for c in range(names or labels.max() + 1)]
    return ImagePool.in_memory(np.zeros((len(labels), 1, 2, 2), np.uint8), labels, names, **more)


def counts_of(benchmark) -> dict[str, tuple[int, int]]:
    """Classes and images of each split."""
    return {split: (count.classes, count.images) for split, count in benchmark.counts.items()}


def superclasses_of(benchmark, split: str) -> set[str]:
    """The names of the superclasses of a split's classes."""
    tasks = benchmark.distribution(split)
    return {tasks.pool.superclasses[label] for label in tasks.classes}


def classes_of(benchmark, split: str) -> set[str]:
    """The names of a split's classes."""
    tasks = benchmark.distribution(split)
    return {tasks.pool.class_names[label] for label in tasks.classes}


def encoded(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    """An image file of uint8 or bool pixels ``[H, W]`` or ``[H, W, 3]``."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()
