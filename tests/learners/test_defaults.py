"""The documented defaults of every learner: a changed one changes what a plain sweep file means."""

import pytest

from fsl_sweep.learners.catalogue import LEARNERS

EPISODIC = {"passes": "separate"}
METAOPTNET = {**EPISODIC, "scale": 1.0, "learn_scale": True, "label_smoothing": 0.0}
PRETRAINED = {"scale": 10.0}
MAML = {
    "way": 5,
    "inner_lr": 0.01,
    "inner_steps": 5,
    "inner_steps_test": 20,
    "batch_norm": "batch",
    "scale": 1.0,
}
DEFAULTS = {
    "protonet": {**EPISODIC, "scale": 10.0, "metric": "euclidean", "learn_scale": False},
    "ridge": {**METAOPTNET, "lam": 50.0},
    "svm": {**METAOPTNET, "C": 0.1},
    "fomaml": MAML,
    "maml": MAML,
    "supervised": PRETRAINED,
    "meta-baseline": {**PRETRAINED, **EPISODIC, "temperature": 10.0, "learn_temperature": True},
    "classifier": {},
    "ncc": PRETRAINED,
    "logistic": {**PRETRAINED, "C": 1.0},
    "finetune": {**PRETRAINED, "steps": 30, "backbone_lr": 1e-4, "head_lr": 0.1},
    "transfer": {**PRETRAINED, "steps": 10, "lr": 1e-3},
    "metadelta": {**PRETRAINED, "encoders": 4},
    "pt-map": {**PRETRAINED, "power": 0.5, "lam": 10.0, "rate": 0.2, "rounds": 20},
    "conv-qda": {**EPISODIC, "shrinkage": 0.5, "scale": 1.0},
    "metadl": {"mode": "episode", "options": {}},
}


@pytest.mark.parametrize("name", LEARNERS.names())
def test_the_defaults_are_the_documented_ones(name):
    fields = LEARNERS.find(name).cls.Options.model_fields
    found = {k: f.get_default(call_default_factory=True) for k, f in fields.items()}
    assert {k: v for k, v in found.items() if not fields[k].is_required()} == DEFAULTS[name]
