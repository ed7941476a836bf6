"""Plug-ins with a fault each, and how tests make them known."""

import ctypes
from typing import ClassVar

import torch
from installed import distribution
from pydantic import model_validator

from fsl_sweep.datasets.source import AbstractBenchmark, Options
from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.orchestrator.catalogue import Info


def fail(*_, **__):
    raise KeyError("no such\nlayer")


class _Mallinfo(ctypes.Structure):
    _fields_: ClassVar = [("numbers", ctypes.c_size_t * 10)]


def mapped():
    """How many regions a large tensor is mapped to by glibc, 1 or 0; None without a newer one."""
    if not hasattr(libc := ctypes.CDLL(None), "mallinfo2"):
        return None
    libc.mallinfo2.restype = _Mallinfo
    before = libc.mallinfo2().numbers[3]
    tensor = torch.empty(2**26)
    return libc.mallinfo2().numbers[3] - before if len(tensor) else None


class Means(EpisodicLearner):
    Options: ClassVar = EpisodicOptions

    def head(self, support, query):
        return -torch.cdist(query, support.mean(dim=2))


class Unbuilt(Means):
    __init__ = fail


class Raising(Means):
    def training_loss(self, batch):
        raise RuntimeError("first line\nlast line")


class Mapping(Means):
    def training_loss(self, batch):
        raise RuntimeError(f"mapped {mapped()}")


class Wide(Means):
    """Answers for a class more than a task has."""

    def head(self, support, query):
        logits = super().head(support, query)
        return torch.cat([logits, logits[..., :1]], dim=-1)


class Unchecked(EpisodicLearner):
    class Options(EpisodicOptions):
        @model_validator(mode="after")
        def _check(self):
            fail()


class Undecided(Raising):
    trained_on = fail


class UnbuiltNet(Backbone):
    Options: ClassVar = BackboneOptions
    feature_dim = 1
    __init__ = forward = fail


class Unassembled(AbstractBenchmark):
    name, Options, version, download = "unassembled", Options, 1, None
    prepare = assemble = fail

    def signature(self, options, root):
        return "0" * 16


LEARNERS = (Unbuilt, Raising, Mapping, Wide, Unchecked, Undecided)
PARTS = {
    "learners": {part.__name__.lower(): part for part in LEARNERS},
    "backbones": {"unbuilt-net": UnbuiltNet},
    "benchmarks": {"unassembled": Unassembled},
}


def __getattr__(attribute):
    """The entry of a part, as its entry point names it."""
    name = attribute.replace("_", "-")
    for parts in PARTS.values():
        if name in parts:
            return Info(name, parts[name], "", "a part with a fault")
    raise AttributeError(attribute)


def install(folder, monkeypatch):
    """Make them known as an installed distribution would."""
    lines = []
    for group, parts in PARTS.items():
        lines += [
            f"[fsl_sweep.{group}]",
            *(f"{name} = faulty:{name.replace('-', '_')}" for name in parts),
        ]
    distribution(folder, "faulty", "1.0", "\n".join(lines))
    monkeypatch.syspath_prepend(folder)
