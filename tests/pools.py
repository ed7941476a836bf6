"""Pools, counts, image files and trees of files, for the tests of `datasets`."""

import io
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.stats import chisquare

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.files.digests import array_digest
from fsl_sweep.datasets.pool import ImagePool, pool_fingerprint


def pool_of(images, labels, class_names, **known) -> ImagePool:
    """A pool over arrays, with the fingerprint that a store would give it."""
    arrays = {"images": images, "labels": np.asarray(labels, dtype=np.int64)}
    arrays |= {key: known[key] for key in ("writers", "attributes") if key in known}
    names = {key: known[key] and tuple(known[key]) for key in known.keys() - arrays.keys()}
    digests = {key: array_digest(array) for key, array in arrays.items()}
    words = (class_names, names.get("superclasses"), names.get("attribute_names"))
    fingerprint = pool_fingerprint(images.shape, digests, *words)
    return ImagePool(**arrays, **names, class_names=tuple(class_names), fingerprint=fingerprint)


def blank_pool(labels, names=None, **more) -> ImagePool:
    """Black images of 1 x 2 x 2 pixels with these labels; ``names`` may be only their number."""
    labels = np.asarray(labels)
    if names is None or isinstance(names, int):
        names = [f"c{c}" for c in range(names or labels.max() + 1)]
    return pool_of(np.zeros((len(labels), 1, 2, 2), np.uint8), labels, names, **more)


def scattered_pool(sizes, names=None) -> ImagePool:
    """Classes of these sizes, whose examples lie scattered over the pool."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return blank_pool(np.random.default_rng(3).permutation(labels), names)


def assert_proper(tasks, episodes, count: int, shape) -> np.ndarray:
    """Well-formed episodes of class tasks: of their classes' examples, and nothing repeats.

    Returns all that each episode shows, ``[count, way, shot + query]``.
    """
    assert episodes.support.shape == (count, shape.way, shape.shot)
    assert episodes.query.shape == (count, shape.way, shape.query)
    for array in (episodes.support, episodes.query, episodes.classes):
        assert array.dtype == np.int64
    together = np.concatenate([episodes.support, episodes.query], axis=2)
    assert (tasks.pool.labels[together] == episodes.classes[:, :, None]).all()
    assert np.isin(together, tasks.examples).all()
    for array in (together.reshape(count, -1), episodes.classes):
        assert (np.diff(np.sort(array, axis=1), axis=1) > 0).all()
    return together


def counts_of(benchmark) -> dict[str, tuple[int, int]]:
    """Classes and images of each split."""
    splits = {split: benchmark.distribution(split) for split in SPLITS}
    return {split: (tasks.size, len(tasks.examples)) for split, tasks in splits.items()}


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


def grey(value: int, size=(12, 10)) -> bytes:
    """An image file of one grey."""
    return encoded(np.full((size[1], size[0], 3), value, np.uint8))


def write_files(root: Path, files: dict[str, bytes | str]) -> Path:
    """Write files by their relative paths, with the folders that they need."""
    for relative, content in files.items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def zipped(files: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for relative, content in files.items():
            archive.writestr(relative, content)
    return stream.getvalue()


def write_zip(path: Path, files: dict[str, bytes | str]) -> Path:
    path.write_bytes(zipped(files))
    return path


def assert_uniform(values, expected=None) -> None:
    """These are ``expected`` values (or so many), each as often as any other, up to chance."""
    distinct, counts = np.unique(np.asarray(values), axis=0, return_counts=True)
    if isinstance(expected, int):
        assert len(distinct) == expected
    elif expected is not None:
        np.testing.assert_array_equal(distinct, expected)
    assert chisquare(counts).pvalue > 1e-4
