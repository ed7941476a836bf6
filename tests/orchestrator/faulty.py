"""Plug-ins with a fault each, and how tests make them known."""

from typing import ClassVar

import torch
from installed import distribution
from pydantic import model_validator

from fsl_sweep.datasets.source import AbstractBenchmark, Options
from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.orchestrator.catalogue import Info


class Unbuilt(EpisodicLearner):
    Options: ClassVar = EpisodicOptions

    def __init__(self, backbone, options, n_base_classes):
        super().__init__(backbone, options, n_base_classes)
        raise KeyError("no such\nlayer")

    def head(self, support, query):
        return -torch.cdist(query, support.mean(dim=2))


class Raising(Unbuilt):
    def __init__(self, backbone, options, n_base_classes):
        EpisodicLearner.__init__(self, backbone, options, n_base_classes)

    def training_loss(self, batch):
        raise RuntimeError("first line\nlast line")


class Wide(Raising):
    """Answers for a class more than a task has."""

    training_loss = EpisodicLearner.training_loss

    def head(self, support, query):
        logits = super().head(support, query)
        return torch.cat([logits, logits[..., :1]], dim=-1)


class UnbuiltNet(Backbone):
    Options: ClassVar = BackboneOptions
    feature_dim = 1

    def __init__(self, options, image_shape):
        super().__init__(options, image_shape)
        raise KeyError("no such\nlayer")

    def forward(self, images):
        return images


class Unchecked(EpisodicLearner):
    class Options(EpisodicOptions):
        @model_validator(mode="after")
        def _check(self):
            raise KeyError("no such\nlayer")


class Undecided(Raising):
    @classmethod
    def trained_on(cls, options):
        raise KeyError("no such\nlayer")


class Unassembled(AbstractBenchmark):
    name, Options, version, download = "unassembled", Options, 1, None

    def signature(self, options, root):
        return "0" * 16

    def prepare(self, options, root, writer, progress):
        raise KeyError("no such\nimage")

    def assemble(self, options, pools):
        raise AssertionError


UNBUILT = Info("unbuilt", Unbuilt, "", "its constructor raises")
RAISING = Info("raising", Raising, "", "its training raises")
UNCHECKED = Info("unchecked", Unchecked, "", "its check of options raises")
UNDECIDED = Info("undecided", Undecided, "", "raises when asked what it trains on")
WIDE = Info("wide", Wide, "", "answers for a class too many")
UNBUILT_NET = Info("unbuilt-net", UnbuiltNet, "", "its constructor raises")
UNASSEMBLED = Info("unassembled", Unassembled, "", "its preparation raises")


def install(folder, monkeypatch):
    """Make them known as an installed distribution would."""
    distribution(
        folder,
        "faulty",
        "1.0",
        "[fsl_sweep.learners]\nunbuilt = faulty:UNBUILT\nraising = faulty:RAISING\n"
        "wide = faulty:WIDE\nunchecked = faulty:UNCHECKED\nundecided = faulty:UNDECIDED\n"
        "[fsl_sweep.backbones]\nunbuilt-net = faulty:UNBUILT_NET\n"
        "[fsl_sweep.benchmarks]\nunassembled = faulty:UNASSEMBLED\n",
    )
    monkeypatch.syspath_prepend(folder)
