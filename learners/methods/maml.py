"""MAML and FOMAML: a whole network adapted to each task by a few steps of gradient descent.

Finn, Abbeel, Levine, "Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks" (arXiv
1703.03400), equation 1, algorithm 2, and section 5.2 for the first-order approximation. Steps and
step size are those of "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4.

A task's support and queries always go through the network separately, so that there is no option
``passes``. In test dropout and DropBlock are off. (The released code of "Two Sides" tests FOMAML in
training mode, and drops there too: an accident, not followed. The batch statistics of that mode are
the option ``batch_norm: batch``.)
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, final

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, vmap
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.dropblock import DropSchedule
from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.base import AdaptationLearner, TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch, check_support
from fsl_sweep.learners.episodic import query_labels
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Images, Logits, Loss, QueryImages, SupportImages

Weights = dict[str, Tensor]
LossOf = Callable[[Weights], Tensor]


class GradientAdaptationOptions(Options):
    """Options of `Maml` and `Fomaml`.

    Attributes:
        way: classes of a task, in training and in evaluation: the classifier's outputs are
            meta-learned, so their number is fixed.
        inner_lr: step size of the adaptation.
        inner_steps: steps of adaptation in training.
        inner_steps_test: steps of adaptation when a snapshot is measured.
        batch_norm: ``batch`` normalises by the statistics of the images that pass together, in test
            too, as the original does: a task's queries then affect one another. ``running`` keeps
            averages in training, and normalises by them in test.
        scale: factor of the logits.
    """

    way: Annotated[int, Field(ge=2)] = 5
    inner_lr: PositiveFloat = 0.01
    inner_steps: PositiveInt = 5
    inner_steps_test: PositiveInt = 20
    batch_norm: Literal["batch", "running"] = "batch"
    scale: PositiveFloat = 1.0


class GradientAdaptation(AdaptationLearner[EpisodeBatch]):
    """A backbone and a linear classifier, from all of whose weights every task starts."""

    Options = GradientAdaptationOptions
    trains_on: ClassVar[TrainsOn] = "episodes"
    first_order: ClassVar[bool]

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, options.way)
        if options.batch_norm == "batch":
            # Without running averages, batch norm uses those of the batch in test as well.
            replace_all_batch_norm_modules_(self)

    @classmethod
    def fixed_way(cls, options: GradientAdaptationOptions) -> int:
        """Return the number of the classifier's outputs."""
        return options.way

    @classmethod
    def unsuited(cls, options: GradientAdaptationOptions, backbone: BackboneOptions) -> str | None:
        """Refuse batch norm by the statistics of a task's images on a frozen backbone."""
        if backbone.frozen and options.batch_norm == "batch":
            return (
                "'batch_norm: batch' normalises by the images of each task, which a frozen "
                "backbone does not; write 'batch_norm: running' (then only the classifier adapts), "
                "or leave out backbone.frozen"
            )
        return None

    def forward(self, images: Images) -> Tensor:
        """Compute logits ``[n, way]`` without adaptation, float32 at least."""
        return self.options.scale * at_least_float32(self.classifier(self.backbone(images)))

    def training_loss(self, batch: EpisodeBatch) -> Loss:
        """Average the cross-entropy over all tasks' queries, each at its task's adapted weights."""
        query, steps = batch.query.flatten(1, 2), self.options.inner_steps
        logits = self._adapted_logits(batch.support, query, steps, not self.first_order)
        return cross_entropy(logits.flatten(0, 1), query_labels(batch.query))

    def predict(self, support: SupportImages, query: QueryImages) -> Logits:
        """Compute logits of each query at the weights that its task's support leads to."""
        check_support(*support.shape[1:3])
        with torch.no_grad():
            return self._adapted_logits(support, query, self.options.inner_steps_test, False)

    def _adapted_logits(
        self, support: Tensor, query: Tensor, steps: int, keep_graph: bool
    ) -> Tensor:
        way, shot = support.shape[1:3]
        if way != self.options.way:
            raise ValueError(
                f"This learner answers {self.options.way}-way tasks; these are {way}-way. "
                f"Build it with way={way}, or give it tasks of {self.options.way} classes."
            )
        labels = torch.arange(way, device=support.device).repeat_interleave(shot)
        together = self._together(support.device)
        gradients = partial(_gradients_together if together else _gradients_alone, keep_graph)
        adaptable: Weights = {n: w for n, w in self.named_parameters() if w.requires_grad}
        answers = partial(self._one_task, adaptable, labels, steps, gradients)
        if together:
            return vmap(answers, randomness="different")(support.flatten(1, 2), query)
        tasks = zip(support.flatten(1, 2), query, strict=True)
        return torch.stack([answers(*task) for task in tasks])

    def _one_task(
        self,
        weights: Weights,
        labels: Tensor,
        steps: int,
        gradients: Callable[[LossOf, Weights], Weights],
        support: Tensor,
        query: Tensor,
    ) -> Tensor:
        """Compute logits ``[m, way]`` of a task's queries after ``steps`` steps on its support."""

        def support_loss(weights: Weights) -> Tensor:
            return cross_entropy(functional_call(self, weights, (support,)), labels)

        for _ in range(steps):
            slopes = gradients(support_loss, weights)
            weights = {n: w - self.options.inner_lr * slopes[n] for n, w in weights.items()}
        return functional_call(self, weights, (query,))

    def _together(self, device: torch.device) -> bool:
        """Tell whether the tasks of a batch go through the network together, or in turn.

        On a CPU convolutions are faster in turn: with weights of its own for each task, a
        convolution becomes a grouped one. A training step of conv4 takes 1.3 to 2.3 times as long
        together; over features of 640 numbers, a fifth (``benchmarks/adaptation.py``).
        """
        if self.training and not self._vectorises():
            return False
        return device.type != "cpu" or not any(True for _ in self.backbone.parameters())

    def _vectorises(self) -> bool:
        """Tell whether `torch.func.vmap` trains this network as one task at a time would.

        It cannot if a pass changes state: running averages, the draws of DropBlock. And its second
        derivatives of batch norm are wrong, without a warning: a known, open defect of its batching
        rules (seen in torch 2.13).
        """
        kinds: list[type[nn.Module]] = [DropSchedule]
        if self.options.batch_norm == "running" or not self.first_order:
            kinds.append(_BatchNorm)
        return not any(isinstance(module, tuple(kinds)) for module in self.modules())


@final
class Maml(GradientAdaptation):
    """The outer gradient goes through the inner loop, with second derivatives of its losses.

    Every inner step of every task in the batch is kept until the outer gradient is taken.
    """

    first_order: ClassVar[bool] = False


@final
class Fomaml(GradientAdaptation):
    """The outer gradient is the query gradient at the adapted weights (first-order MAML)."""

    first_order: ClassVar[bool] = True


def _gradients_alone(keep_graph: bool, loss: LossOf, weights: Weights) -> Weights:
    if not keep_graph:
        weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    with torch.enable_grad():
        # A weight that the loss does not depend on has a gradient of zero.
        slopes = torch.autograd.grad(
            loss(weights), list(weights.values()), create_graph=keep_graph, materialize_grads=True
        )
    return dict(zip(weights, slopes, strict=True))


def _gradients_together(keep_graph: bool, loss: LossOf, weights: Weights) -> Weights:
    if not keep_graph:
        weights = {name: w.detach() for name, w in weights.items()}
    slopes = grad(loss)(weights)
    return slopes if keep_graph else {name: slope.detach() for name, slope in slopes.items()}
