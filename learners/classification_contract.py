"""What every classifier must do: the conformance suite of `ClassificationLearner`.

Subclass it in a test module and say which learner it is about; pytest collects the tests::

    class TestMine(ClassificationContract):
        learner = MyClassifier
"""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import safetensors.torch
import torch
from torch import Tensor

from fsl_sweep.learners.backbones.conv4 import Conv4, Conv4Options
from fsl_sweep.learners.base import ClassificationLearner, LabelledBatch, TrainsOn
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.testing import BASE_CLASSES, IMAGE_SHAPE, assert_close, random_images

IMAGES = 9


class ClassificationContract:
    """Subclass it and set ``learner``; pytest runs the rest, on small random images.

    Attributes:
        learner: what is tried.
        options: its options; what is left out has its default.
        tolerance: how far float32 may be from float64, relative to the largest logit.
    """

    learner: ClassVar[type[ClassificationLearner[Any]]]
    options: ClassVar[Mapping[str, Any]] = {}
    tolerance: ClassVar[float] = 1e-3

    def test_is_a_classifier_and_declares_what_it_trains_on(self) -> None:
        """It classifies, has options, and is built in training mode."""
        assert issubclass(self.learner, ClassificationLearner)
        assert issubclass(self.learner.Options, Options)
        assert self.learner.trains_on in get_args(TrainsOn)
        assert self._build().training

    def test_training_loss_is_a_finite_number_with_gradients(self) -> None:
        """A scalar; its gradient reaches some weights and is finite."""
        learner = self._build()
        loss = learner.training_loss(self._batch())
        assert loss.shape == ()
        assert loss.isfinite()
        loss.backward()
        slopes = [p.grad for p in learner.parameters() if p.grad is not None]
        assert all(slope.isfinite().all() for slope in slopes)
        assert any(slope.any() for slope in slopes)

    def test_steps_down_the_loss_teach_the_training_labels(self) -> None:
        """The place of a logit is the label that training gave its class."""
        learner, batch = self._build(), self._batch()
        descent = torch.optim.Adam(learner.parameters(), lr=0.01)
        for _ in range(30):
            descent.zero_grad()
            learner.training_loss(batch).backward()
            descent.step()
        learner.eval()
        answers = _answer(learner, batch.images).argmax(dim=1)
        assert (answers == batch.labels).float().mean() > 2 / BASE_CLASSES

    def test_logits_are_finite_with_a_row_an_image_and_a_column_a_base_class(self) -> None:
        """Among all base classes, for any number of images."""
        learner = self._ready()
        for count in (1, IMAGES):
            logits = _answer(learner, random_images(count, seed=3))
            assert logits.shape == (count, BASE_CLASSES)
            assert logits.isfinite().all()

    def test_images_do_not_see_each_other(self) -> None:
        """The logits of an image are the same in any company and any order."""
        learner = self._ready().double()
        images = random_images(IMAGES, seed=3).double()
        together = _answer(learner, images)
        order = torch.roll(torch.arange(IMAGES), 2)
        assert_close(_answer(learner, images[order]), together[order], 1e-6)
        for place in range(IMAGES):
            assert_close(_answer(learner, images[place, None])[0], together[place], 1e-6)

    def test_equal_seeds_give_equal_answers(self) -> None:
        """Twice the same learner, and another of the same seed; nothing is drawn globally."""
        learner, twin, images = self._ready(), self._ready(), random_images(IMAGES, seed=3)
        before = torch.get_rng_state()
        first = _answer(learner, images)
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(_answer(learner, images), first)
        assert torch.equal(_answer(twin, images), first)

    def test_answering_changes_nothing(self) -> None:
        """Weights and buffers stay as they are."""
        learner = self._ready()
        before = {name: value.clone() for name, value in learner.state_dict().items()}
        _answer(learner, random_images(IMAGES, seed=3))
        after = learner.state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)

    def test_a_saved_learner_answers_as_before(self) -> None:
        """All that an answer depends on is in the state, which a snapshot file can hold."""
        learner, other = self._ready(), self._build(seed=1).eval()
        saved = safetensors.torch.save(
            {name: value.contiguous() for name, value in learner.state_dict().items()}
        )
        images = random_images(IMAGES, seed=3)
        assert not torch.equal(_answer(other, images), _answer(learner, images))
        other.load_state_dict(safetensors.torch.load(saved))
        assert torch.equal(_answer(other, images), _answer(learner, images))

    def test_float32_is_close_to_float64(self) -> None:
        """Single precision is enough."""
        learner, images = self._ready(), random_images(IMAGES, seed=3)
        expected = _answer(copy.deepcopy(learner).double(), images.double())
        assert_close(_answer(learner, images).double(), expected, self.tolerance)

    def test_an_image_that_is_not_a_number_is_not_answered_silently(self) -> None:
        """NaN in an image: its logits say so; other images are answered."""
        learner, images = self._ready(), random_images(IMAGES, seed=3)
        images[0] = torch.nan
        logits = _answer(learner, images)
        assert logits[0].isnan().any()
        assert logits[1:].isfinite().all()

    def _build(self, seed: int = 0) -> ClassificationLearner[Any]:
        """A learner on a small network, its weights drawn from ``seed``."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            backbone = Conv4(Conv4Options(width=8), IMAGE_SHAPE)
            options = self.learner.Options.model_validate(dict(self.options))
            return self.learner(backbone, options, BASE_CLASSES)

    def _ready(self) -> ClassificationLearner[Any]:
        """One in evaluation mode whose batch norm has seen some images."""
        learner = self._build()
        learner.training_loss(LabelledBatch(random_images(64, seed=9), torch.arange(64) % 2))
        return learner.eval()

    def _batch(self) -> LabelledBatch:
        labels = torch.arange(12) % BASE_CLASSES
        centres = 2 * random_images(BASE_CLASSES, seed=5)
        return LabelledBatch(centres[labels] + random_images(12, seed=1), labels)


def _answer(learner: ClassificationLearner[Any], images: Tensor) -> Tensor:
    with torch.inference_mode():
        return learner.classify(images)
