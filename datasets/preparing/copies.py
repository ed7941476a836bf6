"""Images that are there twice: measured, although a copy of them is trained on."""

from collections.abc import Iterator
from hashlib import blake2b

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.tasks.distribution import TaskDistribution


def copy_remarks(benchmark: Benchmark) -> tuple[str, ...]:
    """For each measured split how many of its images are exact copies of training images.

    Every image is read. Splits that are meant to share images with training are left out, and
    those without copies.
    """
    if not benchmark.fresh_base:
        return ()
    trained = set(_digests(benchmark.train))
    copies = {
        split: sum(digest in trained for digest in _digests(benchmark.distribution(split)))
        for split in MEASURED
    }
    return tuple(
        f"{split}: {count} of {len(benchmark.distribution(split).examples)} images are exact "
        "copies of training images; accuracies count them"
        for split, count in copies.items()
        if count
    )


def _digests(tasks: TaskDistribution) -> Iterator[bytes]:
    for example in tasks.examples:
        yield blake2b(tasks.pool.images[example].tobytes(), digest_size=16).digest()
