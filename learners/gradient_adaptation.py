"""Adapting a whole network to each task by a few steps of gradient descent.

Finn, Abbeel, Levine, "Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks" (arXiv
1703.03400), algorithm 2 and section 5.2. Steps and step size are those of "Two Sides of
Meta-Learning Evaluation", appendix D.2, table 4.

A task's support and queries always go through the network apart, in training and in test, so that
there is no option ``passes``. In test dropout and DropBlock are off, as everywhere. (The released
code of "Two Sides" tests FOMAML in training mode, and drops there too: an accident, not followed.
The batch statistics that it so tests with are the option ``batch_norm: batch``.)
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, vmap
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.dropblock import DropSchedule
from fsl_sweep.learners.base import AdaptationLearner, TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch, check_support
from fsl_sweep.learners.episodic import query_labels
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.options import Options

Weights = dict[str, Tensor]
Loss = Callable[[Weights], Tensor]


class GradientAdaptationOptions(Options):
    """Options of every learner that adapts by gradient descent.

    Attributes:
        way: classes of a task. The classifier's outputs are meta-learned, so their number is fixed:
            it must be that of the training and of the evaluation episodes.
        inner_lr: step size of the adaptation.
        inner_steps: steps of adaptation in training.
        inner_steps_test: steps of adaptation when a snapshot is measured.
        batch_norm: ``batch`` normalises by the statistics of the images that pass together, in test
            too, as the original does: a task's queries then see one another. ``running`` keeps
            averages in training, and in test normalises by them.
        scale: factor of the logits.
    """

    way: Annotated[int, Field(ge=2)] = 5
    inner_lr: PositiveFloat = 0.01
    inner_steps: PositiveInt = 5
    inner_steps_test: PositiveInt = 20
    batch_norm: Literal["batch", "running"] = "batch"
    scale: PositiveFloat = 1.0


class GradientAdaptation(AdaptationLearner[EpisodeBatch]):
    """A backbone and a linear classifier, all of whose weights are where every task begins.

    Tasks are adapted together where that is faster, else one after the other (see `_together`).
    """

    Options = GradientAdaptationOptions
    trains_on: ClassVar[TrainsOn] = "episodes"

    def __init__(
        self,
        backbone: Backbone,
        options: GradientAdaptationOptions,
        n_base_classes: int,
    ) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, options.way)
        self.options = options
        if options.batch_norm == "batch":
            # Without running averages, batch norm uses those of the batch in test as well.
            replace_all_batch_norm_modules_(self)

    @property
    @abstractmethod
    def first_order(self) -> bool:
        """Whether the outer gradient leaves out how the inner gradients depend on the weights."""

    @classmethod
    def fixed_way(cls, options: GradientAdaptationOptions) -> int:
        """The number of the classifier's outputs."""
        return options.way

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n way"]:
        """Logits of the weights as they are, float32 at least."""
        return self.options.scale * at_least_float32(self.classifier(self.backbone(images)))

    def training_loss(self, batch: EpisodeBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy over the queries of all tasks, each at its task's adapted weights."""
        logits = self._adapted_logits(
            batch.support,
            batch.query.flatten(1, 2),
            self.options.inner_steps,
            keep_graph=not self.first_order,
        )
        return cross_entropy(logits.flatten(0, 1), query_labels(batch.query))

    def predict(
        self,
        support: Float[Tensor, "task way shot c h w"],
        query: Float[Tensor, "task m c h w"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query at the weights that its task's support leads to.

        Raises:
            ValueError: the tasks have another number of classes than the classifier, or classes
                without an example.
        """
        check_support(support)
        with torch.no_grad():
            steps = self.options.inner_steps_test
            return self._adapted_logits(support, query, steps, keep_graph=False)

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
        one = partial(self._one_task, self._weights(), labels, steps, gradients)
        if together:
            return vmap(one, randomness="different")(support.flatten(1, 2), query)
        return torch.stack([one(*task) for task in zip(support.flatten(1, 2), query, strict=True)])

    def _one_task(
        self,
        weights: Weights,
        labels: Tensor,
        steps: int,
        gradients: Callable[[Loss, Weights], Weights],
        support: Tensor,
        query: Tensor,
    ) -> Tensor:
        """Logits ``[m, way]`` of a task's queries after ``steps`` steps on its support."""

        def support_loss(weights: Weights) -> Tensor:
            return cross_entropy(functional_call(self, weights, (support,)), labels)

        for _ in range(steps):
            slopes = gradients(support_loss, weights)
            weights = {n: w - self.options.inner_lr * slopes[n] for n, w in weights.items()}
        return functional_call(self, weights, (query,))

    def _weights(self) -> Weights:
        """The weights that adapt: all but frozen ones."""
        return {name: w for name, w in self.named_parameters() if w.requires_grad}

    def _together(self, device: torch.device) -> bool:
        """Whether the tasks of a batch go through the network together.

        On a CPU a loop over the tasks is faster as soon as there are convolutions: with weights of
        its own for each task, a convolution becomes a grouped one. Measured on one core, 5-way,
        28x28 pixels: a training step of conv4 with 32 filters takes 1.3 (1 shot) to 2.3 (5 shots)
        times as long together; over features of 640 numbers, the loop takes 5 times as long.
        """
        if self.training and not self._vectorises():
            return False
        return device.type != "cpu" or not any(True for _ in self.backbone.parameters())

    def _vectorises(self) -> bool:
        """Whether `torch.func.vmap` trains this network as a task at a time would.

        It cannot where a pass leaves a trace: running averages, the draws of DropBlock. And its
        second derivatives of batch norm are wrong, without a warning: a known, open defect of its
        batching rules (seen in torch 2.13).
        """
        kinds: list[type[nn.Module]] = [DropSchedule]
        if self.options.batch_norm == "running" or not self.first_order:
            kinds.append(_BatchNorm)
        return not any(isinstance(module, tuple(kinds)) for module in self.modules())


def _gradients_alone(keep_graph: bool, loss: Loss, weights: Weights) -> Weights:
    if not keep_graph:
        weights = {name: w.detach().requires_grad_() for name, w in weights.items()}
    with torch.enable_grad():
        # A weight that the loss does not depend on has a gradient of zero.
        slopes = torch.autograd.grad(
            loss(weights), list(weights.values()), create_graph=keep_graph, materialize_grads=True
        )
    return dict(zip(weights, slopes, strict=True))


def _gradients_together(keep_graph: bool, loss: Loss, weights: Weights) -> Weights:
    if not keep_graph:
        weights = {name: w.detach() for name, w in weights.items()}
    slopes = grad(loss)(weights)
    return slopes if keep_graph else {name: slope.detach() for name, slope in slopes.items()}
