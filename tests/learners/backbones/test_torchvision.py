import pytest
import torch
from small import images, network

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName

RESNET = "torchvision:resnet18"


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
    built = network(f"torchvision:{model}", (3, side, side)).eval()
    with torch.inference_mode():
        assert built.feature_dim == built(images(1, 3, side)).shape[1] == features


def test_features_are_what_the_last_layer_of_the_original_is_given():
    built, seen = network(RESNET, (3, 32, 32)).eval(), []
    original = load_torchvision("torchvision.models").resnet18(weights=None).eval()
    original.load_state_dict({**original.state_dict(), **built.network.state_dict()})
    original.fc.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    with torch.inference_mode():
        original(images(2, 3, 32))
        torch.testing.assert_close(built(images(2, 3, 32)), seen[0], rtol=1e-4, atol=1e-4)


def test_grey_images_are_repeated_to_three_channels():
    grey = images(2, 1, 32)
    with torch.inference_mode():
        expected = network(RESNET, (3, 32, 32)).eval()(grey.repeat(1, 3, 1, 1))
        assert torch.equal(network(RESNET, (1, 32, 32)).eval()(grey), expected)


def test_unknown_models_suggest_the_nearest():
    with pytest.raises(UnknownName, match="torchvision model 'resnet17'; did you mean 'resnet1"):
        BACKBONES.find("torchvision:resnet17")
    with pytest.raises(UnknownName, match="did you mean 'torchvision:<model>'"):
        BACKBONES.find("torchvison:resnet18")
    with pytest.raises(UnknownName):  # no classifier
        BACKBONES.find("torchvision:fcn_resnet50")


@pytest.mark.parametrize(
    ("model", "shape", "problem"),
    [
        ("vit_b_32", (3, 28, 30), "torchvision:vit_b_32 does not take images of 28x30"),
        ("maxvit_t", (3, 28, 30), "torchvision:maxvit_t does not take images of 28x30"),
        ("resnet18", (2, 32, 32), "1 or 3 channels; these images have 2"),
    ],
)
def test_images_that_a_model_does_not_take_are_refused(model, shape, problem):
    with pytest.raises(ConfigError, match=problem):
        network(f"torchvision:{model}", shape)


def test_the_family_is_listed_once_and_its_members_have_a_provenance():
    listed = [listing.name for listing in BACKBONES.listings()]
    assert listed.count("torchvision:<model>") == 1
    assert BACKBONES.provenance(RESNET) == {"name": RESNET, "source": "fsl-sweep", "version": ""}
