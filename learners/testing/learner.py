"""What every learner must do: a conformance suite for third parties' learners, and for ours.

Subclass it in a test module and set ``learner``; pytest collects the tests::

    class TestMine(LearnerContract):
        learner = MyLearner

Classifiers have a suite of their own in ``classification.py``, backbones in ``backbone.py``, and
programs with MetaDL's interface in ``submission.py``.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, get_args

import safetensors.torch
import torch
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone, ImageShape
from fsl_sweep.learners.backbones.conv4 import Conv4, Conv4Options
from fsl_sweep.learners.base import (
    AdaptationLearner,
    EmbeddingLearner,
    EpisodeBatch,
    GradientLearner,
    LabelledBatch,
    TrainsOn,
)
from fsl_sweep.learners.batches import EpisodeGroup, RaggedEpisodes
from fsl_sweep.learners.options import Options

BASE_CLASSES = 6
TASKS, QUERIES = 2, 3
Batch = EpisodeBatch | RaggedEpisodes | LabelledBatch


class GradientContract:
    """What holds of every learner that is trained by gradient steps, however it answers.

    Attributes:
        learner: what is tested.
        options: its options; what is left out has its default.
        tolerance: how far float32 may be from float64, relative to the largest logit.
    """

    learner: ClassVar[type[GradientLearner[Any]]]
    image_shape: ClassVar[ImageShape] = (1, 16, 16)
    options: ClassVar[Mapping[str, Any]] = {}
    tolerance: ClassVar[float] = 1e-3

    def test_it_declares_its_options_and_what_it_trains_on(self) -> None:
        """Declare options and what it trains on, and be built in training mode."""
        assert issubclass(self.learner.Options, Options)
        assert self.learner.trains_on in get_args(TrainsOn)
        assert self._build().training

    def test_training_loss_is_a_finite_number_with_gradients(self) -> None:
        """Return a scalar whose gradient is finite and reaches some weights."""
        for batch in self._training_batches():
            learner = self._build()
            loss = learner.training_loss(batch)
            assert loss.shape == ()
            assert loss.isfinite()
            loss.backward()
            slopes = [p.grad for p in learner.parameters() if p.grad is not None]
            assert all(slope.isfinite().all() for slope in slopes)
            assert any(slope.any() for slope in slopes)

    def test_equal_seeds_give_equal_answers(self) -> None:
        """Answer alike twice, and as another of the same seed, without global random numbers."""
        learner, twin = self._ready(), self._ready()
        for question in self._questions():
            before = torch.get_rng_state()
            first = self._answer(learner, *question)
            assert torch.equal(torch.get_rng_state(), before)
            assert torch.equal(self._answer(learner, *question), first)
            assert torch.equal(self._answer(twin, *question), first)

    def test_answering_changes_nothing(self) -> None:
        """Leave weights and buffers as they are."""
        learner = self._ready()
        before = {name: value.clone() for name, value in learner.state_dict().items()}
        for question in self._questions():
            self._answer(learner, *question)
        after = learner.state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)

    def test_a_saved_learner_answers_as_before(self) -> None:
        """Keep all that an answer depends on in the state, which a snapshot file can hold."""
        learner, other = self._ready(), self._build(seed=1).eval()
        saved = safetensors.torch.save(
            {name: value.contiguous() for name, value in learner.state_dict().items()}
        )
        other.load_state_dict(safetensors.torch.load(saved))
        for question in self._questions():
            assert torch.equal(self._answer(other, *question), self._answer(learner, *question))

    def test_what_it_draws_is_declared(self) -> None:
        """Answer alike from one network's weights, whatever the seed, unless `Learner.draws`."""
        if self.learner.has_weights(self._options()) or self.learner.draws(self._options()):
            return
        learner, other = self._ready(), self._build(seed=1).eval()
        for mine, its in zip(learner.modules(), other.modules(), strict=True):
            if isinstance(mine, Backbone):
                its.load_state_dict(mine.state_dict())
        for question in self._questions():
            assert torch.equal(self._answer(other, *question), self._answer(learner, *question))

    def test_float32_is_close_to_float64(self) -> None:
        """Need no more than single precision."""
        learner = self._ready()
        exact = copy.deepcopy(learner).double()
        for question in self._questions():
            expected = self._answer(exact, *(part.double() for part in question))
            assert_close(self._answer(learner, *question).double(), expected, self.tolerance)

    @abstractmethod
    def _training_batches(self) -> Iterator[Batch]:
        """Yield a batch of each kind that the learner trains on."""

    @abstractmethod
    def _questions(self, dtype: torch.dtype = torch.float32) -> Iterator[tuple[Tensor, ...]]:
        """Yield arguments of `_answer`."""

    @abstractmethod
    def _answer(self, learner: Any, *question: Tensor) -> Tensor:
        """Compute logits, in the way that the learner's kind is measured."""

    def _build(self, seed: int = 0) -> Any:
        """Build a learner on a small network, its weights drawn from ``seed``."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.learner(self._network(), self._options(), BASE_CLASSES)

    def _network(self) -> Backbone:
        """Build the small network, with its initial weights."""
        return Conv4(Conv4Options(width=8), self.image_shape)

    def _ready(self) -> Any:
        """Build a learner in evaluation mode whose batch norm has seen some images."""
        learner = self._build()
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            for module in learner.modules():
                if isinstance(module, Backbone):
                    module(self._images(64, seed=9))
        return learner.eval()

    def _images(self, *shape: int, seed: int) -> Tensor:
        """Draw normal noise ``[*shape, *image_shape]``, a function of the seed."""
        draws = torch.Generator().manual_seed(seed)
        return torch.randn(*shape, *self.image_shape, generator=draws)

    def _options(self) -> Options:
        return self.learner.Options.model_validate(dict(self.options))


class LearnerContract(GradientContract):
    """Subclass it and set ``learner``; pytest runs the rest, on small random images.

    A support is ``[task, way, shot, c, h, w]`` and the logits ``[task, query, way]``. Learners that
    answer only one number of ways declare it by `Learner.fixed_way`.

    Attributes:
        follows_classes: whether permuting the classes of a task permutes its logits. A learner
            whose classifier starts at weights that differ from class to class sets it to False.
        answers_alone: whether the logits of a query do not depend on the other queries. A
            transductive learner sets it to False.
    """

    follows_classes: ClassVar[bool] = True
    answers_alone: ClassVar[bool] = True

    def test_logits_are_finite_with_a_row_a_query_and_a_column_a_class(self) -> None:
        """Answer tasks of several ways and shots, one shot among them."""
        learner = self._ready()
        for support, query in self._questions():
            logits = self._answer(learner, support, query)
            assert logits.shape == (TASKS, query.shape[1], support.shape[1])
            assert logits.isfinite().all()
            assert not logits.requires_grad

    def test_the_order_within_a_class_does_not_matter(self) -> None:
        """Take the support examples of a class in any order."""
        for learner, support, query, logits in self._answered():
            assert_close(self._answer(learner, support.flip(2), query), logits, 1e-6)

    def test_permuted_classes_permute_the_logits(self) -> None:
        """Treat all classes alike."""
        for learner, support, query, logits in self._answered() if self.follows_classes else ():
            order = torch.roll(torch.arange(support.shape[1]), 1)
            assert_close(self._answer(learner, support[:, order], query), logits[..., order], 1e-6)

    def test_permuted_queries_permute_the_logits(self) -> None:
        """Read nothing from the place of a query."""
        for learner, support, query, logits in self._answered():
            order = torch.roll(torch.arange(query.shape[1]), 2)
            assert_close(self._answer(learner, support, query[:, order]), logits[:, order], 1e-6)

    def test_tasks_do_not_see_each_other(self) -> None:
        """Answer a task whatever the other tasks are."""
        for learner, support, query, logits in self._answered():
            for task in range(TASKS):
                alone = self._answer(learner, support[task, None], query[task, None])
                assert_close(alone[0], logits[task], 1e-6)

    def test_queries_do_not_see_each_other(self) -> None:
        """Answer a query whatever the other queries are."""
        for learner, support, query, logits in self._answered() if self.answers_alone else ():
            assert_close(self._answer(learner, support, query[:, :1]), logits[:, :1], 1e-6)

    def test_a_pool_embedded_once_gives_the_same_answers(self) -> None:
        """Answer from features of a whole pool, gathered, as from the images of each task."""
        for learner, support, query, logits in self._answered():
            if isinstance(learner, EmbeddingLearner):
                pool = torch.cat([query.flatten(0, 1), support.flatten(0, 2)]).flip(0)
                with torch.inference_mode():
                    features = learner.embed(pool).flip(0)
                    queries = features[: TASKS * query.shape[1]].view(*query.shape[:2], -1)
                    examples = features[TASKS * query.shape[1] :].view(*support.shape[:3], -1)
                    assert_close(learner.head(examples, queries), logits, 1e-6)

    def test_nan_is_not_answered_silently(self) -> None:
        """Show NaN in a support or a query in the logits of its task, or raise an error."""
        learner = self._ready()
        for support, query in self._questions():
            for images in (support, query):
                before = images[0, 0].clone()
                images[0, 0] = torch.nan
                with suppress(ValueError):
                    logits = self._answer(learner, support, query)
                    assert logits[0].isnan().any()
                    assert logits[1:].isfinite().all()
                images[0, 0] = before

    def test_no_examples_are_not_answered_silently(self) -> None:
        """Give classes without an example logits that are not numbers, or raise an error."""
        learner = self._ready()
        for support, query in self._questions():
            try:
                logits = self._answer(learner, support[:, :, :0], query)
            except (ValueError, RuntimeError):
                continue
            assert not logits.isfinite().all()

    def test_a_support_of_equal_examples_is_undecided_or_answered_in_numbers(self) -> None:
        """Answer where every kernel is singular, or fail openly, but not in some entries only."""
        learner = self._ready()
        for support, query in self._questions():
            logits = self._answer(learner, torch.ones_like(support), query)
            assert logits.isfinite().all() or logits.isnan().flatten(1).any(dim=1).all()

    def _answered(self) -> Iterator[tuple[Any, Tensor, Tensor, Tensor]]:
        """Yield a learner in double precision, and support, query and logits of several tasks."""
        learner = self._ready().double()
        for support, query in self._questions(torch.float64):
            yield learner, support, query, self._answer(learner, support, query)

    def _answer(self, learner: Any, *question: Tensor) -> Tensor:
        support, query = question
        if isinstance(learner, AdaptationLearner):
            return learner.predict(support, query)
        with torch.inference_mode():
            queries = learner.embed(query.flatten(0, 1))
            # A backbone need not be able to embed no image at all.
            examples = learner.embed(support.flatten(0, 2)) if support.numel() else queries[:0]
            width = queries.shape[-1]
            return learner.head(
                examples.view(*support.shape[:3], width), queries.view(*query.shape[:2], width)
            )

    def _ways(self) -> tuple[int, ...]:
        only = self.learner.fixed_way(self._options())
        return (2, 5) if only is None else (only,)

    def _questions(self, dtype: torch.dtype = torch.float32) -> Iterator[tuple[Tensor, Tensor]]:
        """Draw images of tasks of several ways and shots whose classes are separate."""
        for way in self._ways():
            centres = 2 * self._images(TASKS, way, 1, seed=way)
            for shot in (1, 3):
                support = centres + self._images(TASKS, way, shot, seed=shot)
                query = centres + self._images(TASKS, way, QUERIES, seed=4)
                yield support.to(dtype), query.flatten(1, 2).to(dtype)

    def _training_batches(self) -> Iterator[Batch]:
        if "batches" in self.learner.trains_on:
            yield LabelledBatch(self._images(12, seed=1), torch.arange(12) % BASE_CLASSES)
        if "episodes" in self.learner.trains_on:
            way = self._ways()[-1]
            yield EpisodeBatch(self._images(2, way, 2, seed=1), self._images(2, way, 3, seed=2))
        if self.learner.takes_ragged:
            groups = _group(2, 2, 3), _group(1, 3, 2)
            yield RaggedEpisodes(self._images(4, seed=3), self._images(7, seed=4), groups)


def _group(tasks: int, way: int, queries: int) -> EpisodeGroup:
    """Make one-shot tasks whose images may come again in other tasks."""
    support = torch.arange(tasks * way).view(tasks, way, 1)
    query = torch.arange(tasks * queries).view(tasks, queries)
    return EpisodeGroup(support, query, torch.arange(queries).expand(tasks, -1) % way)


def assert_close(logits: Tensor, expected: Tensor, tolerance: float) -> None:
    """Check that two are equal up to ``tolerance`` times the largest logit expected."""
    torch.testing.assert_close(
        logits, expected, rtol=0, atol=tolerance * float(expected.abs().max().clamp_min(1e-3))
    )
