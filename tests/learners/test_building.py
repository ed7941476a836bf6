import copy

import pydantic
import pytest
import torch

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName

SHAPE = (1, 16, 16)
CONV = {"name": "conv4", "width": 4}
NETWORKS = [CONV, {"name": "resnet12"}]


def build(learner="supervised", backbone=CONV, seed=0, **options):
    return build_learner({"name": learner, **options}, backbone, SHAPE, 5, seed)


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("backbone", NETWORKS, ids=str)
def test_equal_seeds_give_equal_weights_and_others_do_not(backbone):
    weights = build(backbone=backbone, seed=1).state_dict()
    assert same(weights, build(backbone=backbone, seed=1).state_dict())
    other = build(backbone=backbone, seed=2).state_dict()
    assert not torch.equal(weights["classifier.weight"], other["classifier.weight"])
    first = next(key for key in weights if key.endswith("0.weight"))
    assert not torch.equal(weights[first], other[first])


def test_the_callers_generator_neither_matters_nor_moves():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    weights = build(seed=2**64 - 1).state_dict()  # the largest seed
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    assert same(weights, build(seed=2**64 - 1).state_dict())


def test_an_untrained_learner_can_be_copied():
    learner = build("ridge", {"name": "resnet12"})
    assert same(copy.deepcopy(learner).state_dict(), learner.state_dict())


@pytest.mark.parametrize("name", BACKBONES.names())
def test_every_backbone_gives_the_features_that_it_declares_of_images_of_its_shape(name):
    backbone = BACKBONES.find(name).cls
    built = backbone(backbone.Options(), SHAPE)
    assert built(torch.randn(3, *SHAPE)).shape == (3, built.feature_dim)
    with pytest.raises(ValueError, match=r"\[n, 1, 16, 16\].*\[2, 3, 16, 16\]"):
        built(torch.randn(2, 3, 16, 16))


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownName, match="unknown learner 'protonett'; did you mean 'protonet'"):
        build("protonett")
    with pytest.raises(UnknownName, match="unknown backbone 'conv5'; did you mean 'conv4'"):
        build(backbone={"name": "conv5"})


@pytest.mark.parametrize("spec", [{}, {"name": None}, {"name": 4}, {"scale": 10}])
def test_a_missing_name_lists_what_there_is(spec):
    with pytest.raises(ConfigError, match=r"learner\.name: name one of: .*protonet, .*ridge"):
        build_learner(spec, CONV, SHAPE, 5, 0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("protonet", {"metric": "manhattan"}),
        ("protonet", {"scales": 10}),
        ("svm", {"C": 0}),
        ("svm", {"C": float("inf")}),
        ("ridge", {"lam": -1}),
        ("ridge", {"lam": float("nan")}),
        ("supervised", {"scale": "ten"}),
    ],
    ids=str,
)
def test_options_that_do_not_fit_name_the_key(name, options):
    with pytest.raises(pydantic.ValidationError) as caught:
        build(name, **options)
    assert [error["loc"] for error in caught.value.errors()] == [tuple(options)]


def test_a_scale_of_zero_is_refused_by_every_learner_that_has_one():
    for name in LEARNERS.names():
        keys = {"scale", "temperature"} & set(LEARNERS.find(name).cls.Options.model_fields)
        for key in keys:
            for value in (0, float("nan")):
                with pytest.raises(pydantic.ValidationError):
                    build(name, **{key: value})


@pytest.mark.parametrize(
    ("backbone", "key"),
    [
        ({"name": "conv4", "width": 0}, "width"),
        ({"name": "resnet12", "drop_rate": 1.0}, "drop_rate"),
        ({"name": "resnet12", "block_size": 0}, "block_size"),
        ({"name": "identity", "width": 3}, "width"),
    ],
    ids=str,
)
def test_backbone_options_that_do_not_fit_name_the_key(backbone, key):
    with pytest.raises(pydantic.ValidationError) as caught:
        build(backbone=backbone)
    assert [error["loc"] for error in caught.value.errors()] == [(key,)]


@pytest.mark.parametrize("name", ["conv4", "resnet12"])
def test_images_too_small_to_be_halved_say_so(name):
    with pytest.raises(ConfigError, match="at least 16 pixels; these are 15x84"):
        build_learner({"name": "protonet"}, {"name": name}, (3, 15, 84), 5, 0)
