import torch

from fsl_sweep.learners.backbones.identity import Identity, IdentityOptions


def test_it_flattens_and_has_no_parameters():
    backbone = Identity(IdentityOptions(), (7, 1, 1))
    features = torch.randn(3, 7)
    assert torch.equal(backbone(features.view(3, 7, 1, 1)), features)
    assert backbone.feature_dim == 7
    assert not list(backbone.parameters())


def test_images_are_flattened_channel_by_channel():
    images = torch.arange(24.0).view(2, 3, 2, 2)
    backbone = Identity(IdentityOptions(), (3, 2, 2))
    assert backbone(images).tolist() == images.reshape(2, 12).tolist()
