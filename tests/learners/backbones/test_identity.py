import torch

from fsl_sweep.learners.backbones.identity import Identity
from fsl_sweep.learners.options import Options


def test_it_flattens_and_has_no_parameters():
    backbone = Identity(Options(), (7, 1, 1))
    features = torch.randn(3, 7)
    assert torch.equal(backbone(features.view(3, 7, 1, 1)), features)
    assert backbone.feature_dim == 7
    assert not list(backbone.parameters())
