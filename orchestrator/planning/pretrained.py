"""A backbone's initial weights in a plan: the file that is meant, and what the report warns of."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark, PixelStatistics
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.learners.building import pixel_statistics
from fsl_sweep.learners.snapshot import description_of
from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.planning.part import Part
from fsl_sweep.orchestrator.records.model import Named

_SAME = 1e-3
"""Means and deviations that differ by less, a quarter of a grey level, are the same."""


def pinned(backbone: Part, learner: Part) -> Named:
    """Add the checksum of a backbone's file of weights, if it has one.

    Raises:
        ConfigError: the file cannot be read, has another checksum than the one in the sweep file,
            the backbone has no weights, or the learner cannot be used with one that starts so.
    """
    options = backbone.options
    if not backbone.cls.has_weights and (options.weights is not None or options.frozen):
        key = "weights" if options.weights is not None else "frozen"
        problem = f"'{backbone.name}' has no weights; leave it out"
        raise ConfigError("", f"backbone.{key}", problem)
    if (reason := learner.cls.unsuited(learner.options, options)) is not None:
        raise ConfigError("", "learner", f"{learner.name}: {reason}")
    if options.weights is None:
        return backbone.named
    path = Path(options.weights)
    try:
        check_plain(path)
        checksum = _checksum(path, path.stat().st_mtime_ns)
    except OSError as failure:
        problem = f"'{path}' cannot be read: {failure.strerror or failure}"
        raise ConfigError("", "backbone.weights", problem) from None
    except BadData as failure:
        raise ConfigError("", "backbone.weights", str(failure).rstrip(".")) from None
    if options.weights_sha256 not in (None, checksum):
        problem = f"'{options.weights}' has the checksum {checksum}: it is another file"
        raise ConfigError("", "backbone.weights_sha256", problem)
    return Named.model_validate({**backbone.named.model_dump(), "weights_sha256": checksum})


def start_cautions(method: str, written: Mapping[str, Any], backbone: Named) -> Iterator[str]:
    """Say what to know of a backbone's initial weights.

    Args:
        method: its method.
        written: the backbone's section in the sweep file.
        backbone: what it became.
    """
    weights = backbone.options.get("weights")
    if weights is None:
        if backbone.options.get("frozen"):
            yield f"{method}: its backbone is frozen at random weights, because no file is given"
        return
    yield (
        f"{method}: its backbone starts from the weights '{shown(weights)}'; if these were "
        "trained on images of the val or novel classes, ValGen or NovelGen is not accuracy on new "
        "classes"
    )
    if "normalisation" not in written and description_of(weights) is None:
        yield (
            f"{method}: images are normalised by this benchmark's training images, but pretrained "
            "weights expect what they were trained with; write backbone.normalisation (imagenet, "
            "benchmark, or mean and std)"
        )


def shown(weights: str) -> str:
    """Shorten the path of a file of weights to its name; of a run's snapshot, to its run folder."""
    parts = Path(weights).parts
    of_a_run = parts[-4:-3] == ("trials",) and parts[-2] == "snapshots"
    return "/".join(parts[-5:]) if of_a_run else parts[-1]


def normalisation_caution(backbone: Mapping[str, Any], benchmark: Benchmark) -> Iterator[str]:
    """Say so if the snapshot that a backbone starts from had its images normalised otherwise."""
    weights = backbone.get("weights")
    if weights is None or (snapshot := description_of(weights)) is None:
        return
    ours = pixel_statistics(backbone) or (benchmark.pixel_mean, benchmark.pixel_std)
    theirs = snapshot.pixel_mean, snapshot.pixel_std
    if np.shape(ours) != np.shape(theirs) or np.abs(np.subtract(ours, theirs)).max() > _SAME:
        yield (
            f"the weights '{shown(weights)}' were trained on images normalised by "
            f"{_numbers(theirs)}, and these are normalised by {_numbers(ours)}; write the former "
            "as backbone.normalisation"
        )


def _numbers(pixels: PixelStatistics) -> str:
    mean, std = (", ".join(f"{value:.3g}" for value in values) for values in pixels)
    return f"{{mean: [{mean}], std: [{std}]}}"


@cache
def _checksum(path: Path, modified: int) -> str:  # noqa: ARG001 (a file that changed is read again)
    """Compute the SHA-256 of a file in hexadecimal, once for all configurations that use it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
