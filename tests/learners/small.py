"""Small learners, tasks and images, for the tests of `learners`."""

import numpy as np
import torch

from fsl_sweep.learners.backbones import resnet12, wrn
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.building import build_backbone, build_learner
from fsl_sweep.learners.heads.transport import transport

SHAPE = 1, 16, 16
CONV = {"name": "conv4", "width": 4}
IDENTITY = {"name": "identity"}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=generator(seed), dtype=dtype)


def images(count, channels=1, height=16, width=None):
    return normal(count, channels, height, width or height, dtype=torch.float32)


def build(name, backbone=CONV, shape=SHAPE, classes=5, seed=0, **options):
    return build_learner({"name": name, **options}, backbone, shape, classes, seed)


def network(name, shape=SHAPE, seed=0, **options):
    """A backbone in training mode whose weights come from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_backbone({"name": name, **options}, shape)[0]


def narrow(monkeypatch):
    """Give the wide networks few filters, with which they are quick to draw and to train."""
    monkeypatch.setattr(resnet12, "WIDTHS", (4, 6, 6, 8))
    monkeypatch.setattr(wrn, "WIDTHS", (6, 8, 8))


def on_features(name, width=6, seed=0, **options):
    """A learner in double precision and evaluation mode, whose images are features already."""
    return build(name, IDENTITY, (width, 1, 1), seed=seed, **options).double().eval()


def features(way, shot, width=6, queries=5, tasks=2, seed=0):
    """Supports ``[tasks, way, shot, width]`` around class means, and queries."""
    support, centres = (normal(tasks, way, n, width, seed=seed + n) for n in (shot, 1))
    return support + centres, normal(tasks, queries, width, seed=seed)


def embedded(learner, *parts):
    return [learner.embed(p.reshape(-1, p.shape[-1], 1, 1)).view(p.shape) for p in parts]


def episodes(tasks=2, way=3, shot=2, query=4, shape=SHAPE, seed=0, dtype=torch.float32):
    support = normal(tasks, way, shot, *shape, seed=seed, dtype=dtype)
    return EpisodeBatch(support, normal(tasks, way, query, *shape, seed=seed + 1, dtype=dtype))


def labelled(count=12, shape=SHAPE, dtype=torch.float32):
    return LabelledBatch(normal(count, *shape, dtype=dtype), torch.arange(count) % 5)


def equal(state, other):
    """Whether two state dictionaries hold the same tensors."""
    return state.keys() == other.keys() and all(torch.equal(state[k], other[k]) for k in state)


def assert_statuses(solution, *expected):
    """Each task is solved, unless statuses are given; NaN is the value of those that are not."""
    assert solution.status.tolist() == list(expected or [0] * len(solution.value))
    for value, status in zip(solution.value, solution.status, strict=True):
        assert (value.isnan() if status else value.isfinite()).all()


def transported(cost, lam=10.0, *start):
    """The plan with equal sums of the rows and of the columns, and the potentials."""
    rows, columns = torch.ones_like(cost[:, :, 0]), torch.ones_like(cost[:, 0])
    return transport(cost, rows, columns * cost.shape[1] / cost.shape[2], lam, *start)


def unit(values):
    values = np.asarray(values)
    return values / np.linalg.norm(values, axis=-1, keepdims=True)
