"""A small submission with MetaDL's interface, and how tests make it known."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from evaluated import CPU
from installed import distribution
from made import trainable
from torch import nn
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.metadl.submissions import Submission
from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.trial.submission import SubmissionTraining


def network():
    layers = nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten())


def tensor(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2)


def centres_of(features, labels):
    return torch.stack([features[labels == label].mean(0) for label in range(labels.max() + 1)])


class Predictor:
    def __init__(self, network, centres, answers):
        self.network, self.centres, self.answers = network, centres, answers

    def predict(self, dataset_test):
        (images,) = dataset_test
        with torch.no_grad():
            logits = -torch.cdist(self.network(tensor(images)), self.centres)
        return {
            "logits": lambda: logits,
            "labels": lambda: logits.argmax(1).numpy(),
            "order": lambda: np.arange(len(logits)) // (len(logits) // logits.shape[1]),
            "nan": lambda: logits * torch.nan,
            "too many": lambda: logits.argmax(1) + logits.shape[1],
            "floats": lambda: logits.argmax(1).float(),
            "transposed": lambda: logits.T,
            "nothing": lambda: None,
        }[self.answers]()


class Learner:
    """Forgets what it knew with each fit: only ``load`` brings it back."""

    def __init__(self, trained=None, answers="logits"):
        self.network, self.answers = trained or network(), answers

    def fit(self, dataset_train):
        if self.answers == "fit":
            raise RuntimeError("cannot fit")
        ((images, labels),) = dataset_train
        with torch.no_grad():
            kept = network()
            kept.load_state_dict(self.network.state_dict())
            centres = centres_of(kept(tensor(images)), labels)
            self.network[0].weight.zero_()
        return Predictor(kept, centres, self.answers)

    def save(self, path_to_save):
        if self.answers != "nothing saved":
            content = {"network": self.network.state_dict(), "answers": self.answers}
            torch.save(content, Path(path_to_save) / "learner.pt")

    def load(self, path_to_model):
        content = torch.load(Path(path_to_model) / "learner.pt", weights_only=True)
        self.network.load_state_dict(content["network"])
        self.answers = content["answers"]


class MetaLearner:
    def __init__(self, lr=0.003, answers="logits"):
        self.network, self.answers = network(), answers
        self.classifier = nn.LazyLinear(12)
        self.classifier(self.network(torch.zeros(1, 1, 16, 16)))
        parameters = [*self.network.parameters(), *self.classifier.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=lr)

    def meta_fit(self, meta_dataset_generator):
        if self.answers == "meta_fit":
            raise RuntimeError("cannot meta-train")
        while True:
            for item, _ in meta_dataset_generator.meta_train_pipeline:
                self.optimizer.zero_grad()
                self.loss(item, meta_dataset_generator.mode).backward()
                self.optimizer.step()
            if self.answers != "again":
                return Learner(self.network, self.answers)

    def loss(self, item, mode):
        features = self.network(tensor(item[0]))
        if mode == "batch":
            return cross_entropy(self.classifier(features), torch.from_numpy(item[1]))
        distances = torch.cdist(self.network(tensor(item[3])), centres_of(features, item[1]))
        return cross_entropy(-distances, torch.from_numpy(item[4]))


class GoesOn(MetaLearner):
    """One that can save itself."""

    def parts(self):
        return {name: getattr(self, name) for name in ("network", "classifier", "optimizer")}

    def save(self, path):
        content = {name: part.state_dict() for name, part in self.parts().items()}
        torch.save(content, Path(path) / "state.pt")

    def load(self, path):
        content = torch.load(Path(path) / "state.pt", weights_only=True)
        for name, part in self.parts().items():
            part.load_state_dict(content[name])


class Protos(Submission):
    meta_learner, learner = MetaLearner, Learner


class ProtosGoOn(Submission):
    meta_learner, learner = GoesOn, Learner


PROTOS = Info("protos", Protos, "", "nearest mean of a small network's features")
PROTOS_GO_ON = Info("protos-go-on", ProtosGoOn, "", "the same, which can be interrupted")


def spec(submission="protos", mode="episode", options=(), **changes):
    """A trial of a submission on episodes, or on batches."""
    train = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
    learner = {"name": "metadl", "submission": submission, "mode": mode, "options": dict(options)}
    usual = {
        "backbone": {"name": "identity"},
        "optimizer": None,
        "schedule": [],
        "train": train if mode == "episode" else {"batch_size": 8},
        "validation": {"way": 3, "shot": 1, "query": 2},
    }
    return trainable(**{**usual, **changes}, learner=learner)


def given(data, spec, epoch=1):
    """What an epoch gives to a submission."""
    kept = SimpleNamespace()
    kept.meta_train = lambda dataset, seed: vars(kept).update(
        data=dataset, seed=seed, items=[*dataset.meta_train_pipeline]
    )
    SubmissionTraining(spec, data, kept, CPU).epoch(epoch, lambda step: None)
    return kept


def unit(images):
    """Images ``[..., C, H, W]`` in [0, 1] as a submission has them."""
    assert images.dtype == np.float32
    return np.moveaxis((images + 1) / 2, -1, -3)


def shown(items):
    """The support and the queries ``[way, each, C, H, W]`` of episodes, and their classes."""
    for episode, source in items:
        each = []
        for images, labels, classes in (episode[:3], episode[3:]):
            way = labels.max() + 1
            assert (labels.reshape(way, -1) == np.arange(way)[:, None]).all()
            each += [unit(images).reshape(way, -1, 1, *images.shape[1:3]), classes.reshape(way, -1)]
        support, of_support, query, of_query = each
        assert (source, (of_support[:, :1] == of_query).all()) == (0, True)
        yield support, query, of_support[:, 0]


def install(folder, monkeypatch):
    """Make the two known as an installed distribution would, and one that does not load."""
    names = {"protos": "PROTOS", "protos-go-on": "PROTOS_GO_ON", "broken": "NOWHERE"}
    lines = [
        "[fsl_sweep.metadl]",
        *(f"{name} = submitted:{place}" for name, place in names.items()),
    ]
    distribution(folder, "submitted", "3.1", "\n".join(lines))
    monkeypatch.syspath_prepend(folder)
