"""What every classifier must do: the conformance suite of `ClassificationLearner`.

Subclass it in a test module and set ``learner``; pytest collects the tests::

    class TestMine(ClassificationContract):
        learner = MyClassifier
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from fsl_sweep.learners.base import LabelledBatch
from fsl_sweep.learners.testing.learner import (
    BASE_CLASSES,
    GradientContract,
    assert_close,
)

IMAGES = 9


class ClassificationContract(GradientContract):
    """Subclass it and set ``learner``; pytest runs the rest, on small random images."""

    def test_steps_down_the_loss_teach_the_training_labels(self) -> None:
        """Put each class's logit at the place of the label that training gave it."""
        learner, batch = self._build(), next(self._training_batches())
        descent = torch.optim.Adam(learner.parameters(), lr=0.01)
        for _ in range(30):
            descent.zero_grad()
            learner.training_loss(batch).backward()
            descent.step()
        answers = self._answer(learner.eval(), batch.images).argmax(dim=1)
        assert (answers == batch.labels).float().mean() > 2 / BASE_CLASSES

    def test_logits_are_finite_with_a_row_an_image_and_a_column_a_base_class(self) -> None:
        """Answer among all base classes, for any number of images."""
        learner = self._ready()
        for (images,) in self._questions():
            logits = self._answer(learner, images)
            assert logits.shape == (len(images), BASE_CLASSES)
            assert logits.isfinite().all()

    def test_images_do_not_see_each_other(self) -> None:
        """Answer an image whatever the other images and their order are."""
        learner, images = self._ready().double(), self._images(IMAGES, seed=3).double()
        together = self._answer(learner, images)
        order = torch.roll(torch.arange(IMAGES), 2)
        assert_close(self._answer(learner, images[order]), together[order], 1e-6)
        for place in range(IMAGES):
            assert_close(self._answer(learner, images[place, None])[0], together[place], 1e-6)

    def test_an_image_that_is_not_a_number_is_not_answered_silently(self) -> None:
        """Show NaN in an image in its logits; answer the other images."""
        images = self._images(IMAGES, seed=3)
        images[0] = torch.nan
        logits = self._answer(self._ready(), images)
        assert logits[0].isnan().any()
        assert logits[1:].isfinite().all()

    def _answer(self, learner: Any, *question: Tensor) -> Tensor:
        (images,) = question
        with torch.inference_mode():
            return learner.classify(images)

    def _questions(self, dtype: torch.dtype = torch.float32) -> Iterator[tuple[Tensor]]:
        for count in (1, IMAGES):
            yield (self._images(count, seed=3).to(dtype),)

    def _training_batches(self) -> Iterator[LabelledBatch]:
        labels = torch.arange(12) % BASE_CLASSES
        centres = 2 * self._images(BASE_CLASSES, seed=5)
        yield LabelledBatch(centres[labels] + self._images(12, seed=1), labels)
