import pytest
import torch

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName


def build(model, shape=(3, 32, 32)):
    cls = BACKBONES.find(f"torchvision:{model}").cls
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return cls(cls.Options(), shape)


def images(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


# One of each way in which torchvision writes its classifier.
@pytest.mark.parametrize(
    ("model", "side", "features"),
    [
        ("resnet18", 32, 512),
        ("mobilenet_v3_small", 32, 1024),
        ("squeezenet1_1", 32, 512),
        pytest.param("googlenet", 32, 1024, marks=pytest.mark.slow),
        pytest.param("vit_b_32", 64, 768, marks=pytest.mark.slow),
    ],
)
def test_the_classifier_is_taken_out(model, side, features):
    backbone = build(model, (3, side, side)).eval()
    assert backbone.feature_dim == features
    with torch.inference_mode():
        assert backbone(images(1, 3, side, side)).shape == (1, features)


def test_features_are_what_the_last_layer_of_the_original_is_given():
    backbone, given = build("resnet18").eval(), images(2, 3, 32, 32)
    original = load_torchvision("torchvision.models").resnet18(weights=None)
    weights = {k.removeprefix("network."): v for k, v in backbone.state_dict().items()}
    original.load_state_dict(
        weights | {k: original.state_dict()[k] for k in ("fc.weight", "fc.bias")}
    )
    seen = []
    original.fc.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    with torch.inference_mode():
        original.eval()(given)
        torch.testing.assert_close(backbone(given), seen[0], rtol=1e-4, atol=1e-4)


def test_grey_images_are_repeated_to_three_channels():
    grey = images(2, 1, 32, 32)
    with torch.inference_mode():
        expected = build("resnet18").eval()(grey.repeat(1, 3, 1, 1))
        assert torch.equal(build("resnet18", (1, 32, 32)).eval()(grey), expected)


def test_it_trains_as_a_backbone_named_in_a_sweep_file():
    learner = build_learner(
        {"name": "protonet"}, {"name": "torchvision:resnet18"}, (1, 28, 28), 5, 0
    )
    again = build_learner({"name": "protonet"}, {"name": "torchvision:resnet18"}, (1, 28, 28), 5, 0)
    assert learner.training
    assert learner.backbone.network.training
    pairs = zip(learner.state_dict().values(), again.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_unknown_models_suggest_the_nearest():
    with pytest.raises(UnknownName, match="torchvision model 'resnet17'; did you mean 'resnet1"):
        BACKBONES.find("torchvision:resnet17")
    with pytest.raises(UnknownName, match="did you mean 'torchvision:<model>'"):
        BACKBONES.find("torchvison:resnet18")
    with pytest.raises(UnknownName):  # no classifier
        BACKBONES.find("torchvision:fcn_resnet50")


@pytest.mark.parametrize("model", ["vit_b_32", "maxvit_t"])
def test_sizes_that_a_model_refuses_are_named(model):
    with pytest.raises(ConfigError, match=f"torchvision:{model} does not take images of 28x30"):
        build(model, (3, 28, 30))


def test_images_of_two_channels_are_refused():
    with pytest.raises(ConfigError, match="1 or 3 channels; these images have 2"):
        build("resnet18", (2, 32, 32))


def test_the_family_is_listed_once_and_its_members_have_a_provenance():
    listed = [listing.name for listing in BACKBONES.listings()]
    assert listed.count("torchvision:<model>") == 1
    recorded = BACKBONES.provenance("torchvision:resnet18")
    assert recorded == {"name": "torchvision:resnet18", "source": "fsl-sweep", "version": ""}
