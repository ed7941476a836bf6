"""A small program with MetaDL's interface, and how tests make it known."""

from pathlib import Path

import numpy as np
import torch
from installed import distribution
from torch import nn
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.metadl.submissions import Submission
from fsl_sweep.orchestrator.catalogue import Info


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU(), nn.Flatten()
    )


def tensor(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2)


def means(features, labels, way):
    return torch.stack([features[labels == i].mean(0) for i in range(way)])


class Predictor:
    def __init__(self, network, centres, answers):
        self.network, self.centres, self.answers = network, centres, answers

    def predict(self, dataset_test):
        (images,) = dataset_test
        with torch.no_grad():
            logits = -torch.cdist(self.network(tensor(images)), self.centres)
        return {
            "logits": lambda: logits,
            "probabilities": lambda: logits.softmax(1).numpy(),
            "labels": lambda: logits.argmax(1).numpy(),
            "column": lambda: logits.argmax(1, keepdim=True),
            "list": lambda: logits.argmax(1).tolist(),
            "order": lambda: np.arange(len(logits)) // (len(logits) // logits.shape[1]),
            "nan": lambda: logits * torch.nan,
            "too many": lambda: logits.argmax(1) + logits.shape[1],
            "floats": lambda: logits.argmax(1).float(),
            "transposed": lambda: logits.T,
            "nothing": lambda: None,
        }[self.answers]()


class Learner:
    """Forgets what it knew with each fit: only ``load`` brings it back."""

    def __init__(self, network=None, answers="logits"):
        self.network, self.answers = network or globals()["network"](), answers

    def fit(self, dataset_train):
        if self.answers == "fit":
            raise RuntimeError("cannot fit")
        ((images, labels),) = dataset_train
        with torch.no_grad():
            own = network()
            own.load_state_dict(self.network.state_dict())
            centres = means(own(tensor(images)), torch.from_numpy(labels), labels.max() + 1)
            self.network[0].weight.zero_()
        return Predictor(own, centres, self.answers)

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
                loss = self.loss(item, meta_dataset_generator.mode)
                loss.backward()
                self.optimizer.step()
            if self.answers != "again":
                return Learner(self.network, self.answers)

    def loss(self, item, mode):
        if mode == "batch":
            logits = self.classifier(self.network(tensor(item[0])))
            return cross_entropy(logits, torch.from_numpy(item[1]))
        support, query = self.network(tensor(item[0])), self.network(tensor(item[3]))
        centres = means(support, torch.from_numpy(item[1]), item[1].max() + 1)
        return cross_entropy(-torch.cdist(query, centres), torch.from_numpy(item[4]))


class GoesOn(MetaLearner):
    """One that can save itself."""

    @property
    def state(self):
        return {name: getattr(self, name) for name in ("network", "classifier", "optimizer")}

    def save(self, path):
        content = {name: part.state_dict() for name, part in self.state.items()}
        torch.save(content, Path(path) / "state.pt")

    def load(self, path):
        content = torch.load(Path(path) / "state.pt", weights_only=True)
        for name, part in self.state.items():
            part.load_state_dict(content[name])


class Protos(Submission):
    meta_learner, learner = MetaLearner, Learner


class ProtosGoOn(Submission):
    meta_learner, learner = GoesOn, Learner


PROTOS = Info("protos", Protos, "", "nearest mean of a small network's features")
PROTOS_GO_ON = Info("protos-go-on", ProtosGoOn, "", "the same, which can be interrupted")


def install(folder, monkeypatch):
    """Make the two known as an installed distribution would."""
    distribution(
        folder,
        "submitted",
        "3.1",
        "[fsl_sweep.metadl]\nprotos = submitted:PROTOS\nprotos-go-on = submitted:PROTOS_GO_ON\n"
        "broken = submitted:NOWHERE\n",
    )
    monkeypatch.syspath_prepend(folder)
