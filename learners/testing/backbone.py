"""What every backbone must do: the conformance suite of `Backbone`.

Subclass it in a test module and set ``backbone``; pytest collects the tests::

    class TestMine(BackboneContract):
        backbone = MyBackbone
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.learners.testing.learner import LearnerContract


class BackboneContract(LearnerContract):
    """A prototypical network on it must keep the contract of learners, which sees its faults.

    Such as global random numbers, state that answering changes or that is not saved, images that
    see one another, no gradients, no double precision.

    Attributes:
        backbone: what is tested.
        backbone_options: its options; what is left out has its default.
        image_shape: of images that it takes.
    """

    learner = Protonet
    backbone: ClassVar[type[Backbone]]
    backbone_options: ClassVar[Mapping[str, Any]] = {}

    def test_features_are_as_wide_as_it_says_and_other_images_are_refused(self) -> None:
        """Give a vector an image; raise ValueError for images of another size."""
        network, images = self._network().eval(), self._images(3, seed=0)
        assert network(images).shape == (3, network.feature_dim)
        try:
            network(images[..., 1:])
        except ValueError:
            return
        raise AssertionError("images of another size are accepted")

    def _network(self) -> Backbone:
        options = self.backbone.Options.model_validate(dict(self.backbone_options))
        return self.backbone(options, self.image_shape)
