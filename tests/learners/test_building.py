import copy

import pydantic
import pytest
import torch
from small import CONV, build, equal, narrow

from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import UserError


@pytest.mark.parametrize(
    "backbone", [CONV, {"name": "resnet12"}, {"name": "torchvision:shufflenet_v2_x0_5"}], ids=str
)
def test_equal_seeds_and_copies_give_equal_weights_and_other_seeds_do_not(backbone, monkeypatch):
    narrow(monkeypatch)
    learner, again, other = (build("supervised", backbone, seed=seed) for seed in (1, 1, 2))
    assert all(module.training for module in learner.modules())
    weights, other = learner.state_dict(), other.state_dict()
    assert equal(weights, again.state_dict())
    assert equal(weights, copy.deepcopy(learner).state_dict())
    first = next(key for key in weights if key.endswith("0.weight"))
    for key in ("classifier.weight", first):
        assert not torch.equal(weights[key], other[key])


def test_the_callers_generator_neither_matters_nor_moves():
    states = []
    for seed in (5, 6):
        before = torch.manual_seed(seed).get_state()
        states.append(build("supervised", seed=2**64 - 1).state_dict())  # the largest seed
        assert torch.equal(torch.get_rng_state(), before)
    assert equal(*states)


@pytest.mark.parametrize(
    ("learner", "backbone", "problem"),
    [
        ("protonett", CONV, "unknown learner 'protonett'; did you mean 'protonet'"),
        ("ridge", {"name": "conv5"}, "unknown backbone 'conv5'; did you mean 'conv4'"),
        (None, CONV, r"learner\.name: name one of: .*protonet, .*ridge"),
        (4, CONV, r"learner\.name: name one of: .*protonet, .*ridge"),
        ("ridge", {"width": 10}, r"backbone\.name: name one of: .*conv4, .*resnet12"),
    ],
)
def test_an_unknown_name_suggests_the_nearest_and_a_missing_one_what_there_is(
    learner, backbone, problem
):
    with pytest.raises(UserError, match=problem):
        build(learner, backbone)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("protonet", {"metric": "manhattan", "scales": 10}),
        ("svm", {"C": 0}),
        ("svm", {"C": float("inf")}),
        ("ridge", {"lam": -1}),
        ("ridge", {"lam": float("nan")}),
        ("supervised", {"scale": "ten"}),
        ("conv4", {"width": 0}),
        ("resnet12", {"drop_rate": 1.0, "block_size": 0}),
        ("identity", {"width": 3}),
    ],
    ids=str,
)
def test_options_that_do_not_fit_name_the_key(name, options):
    spec = {"name": name, **options}
    with pytest.raises(pydantic.ValidationError) as caught:
        build(**spec) if name in LEARNERS.names() else build("ridge", spec)
    assert [error["loc"] for error in caught.value.errors()] == [(key,) for key in options]


def test_a_scale_of_zero_is_refused_by_every_learner_that_has_one():
    for name in LEARNERS.names():
        for key in {"scale", "temperature"} & set(LEARNERS.find(name).cls.Options.model_fields):
            for value in (0, float("nan")):
                with pytest.raises(pydantic.ValidationError):
                    build(name, **{key: value})


def test_the_defaults_of_every_learner(snapshot):
    """A changed one changes what a plain sweep file means."""
    options = {name: LEARNERS.find(name).cls.Options for name in LEARNERS.names()}
    assert {name: cls.model_construct().model_dump() for name, cls in options.items()} == snapshot
