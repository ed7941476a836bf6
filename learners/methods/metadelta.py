"""MetaDelta: an ensemble of encoders, each answering by soft prototypes.

Chen et al., "MetaDelta: A Meta-Learning System for Few-shot Image Classification" (arXiv
2102.10744), the first place of "Advances in MetaDL: AAAI 2021 challenge and workshop", section 4.4:
four encoders, each trained as a classifier of all base classes. The paper combines their
probabilities by a classifier trained on validation tasks; here they are averaged, because what is
measured on validation tasks must not have been trained on them.
"""

from typing import Any, ClassVar, final

import torch
from pydantic import PositiveFloat, PositiveInt, field_validator
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.heads.prototype import soft_prototype_probabilities
from fsl_sweep.learners.options import Options, resolve
from fsl_sweep.learners.shapes import Features, Images, Logits, Loss, Query, Support
from fsl_sweep.orchestrator.errors import UserError


class MetaDeltaOptions(Options):
    """Options of `MetaDelta`.

    Attributes:
        encoders: the number of copies of the trial's backbone, each with its own weights; or the
            names and options of further backbones.
        scale: multiplies the logits over base classes in training.
    """

    encoders: PositiveInt | list[dict[str, Any]] = 4
    scale: PositiveFloat = 10.0

    @field_validator("encoders")
    @classmethod
    def _known(cls, value: int | list[dict[str, Any]]) -> int | list[dict[str, Any]]:
        for spec in value if isinstance(value, list) else []:
            try:
                resolve(BACKBONES, spec)
            except UserError as error:
                raise ValueError(str(error)) from None
            if reserved := sorted(spec.keys() & BackboneOptions.model_fields.keys()):
                raise ValueError(f"only the trial's backbone takes {', '.join(reserved)}")
        return value


@final
class MetaDelta(EmbeddingLearner[LabelledBatch]):
    """Logits are logarithms of the mean of the encoders' probabilities.

    It is transductive: the prototypes of a task depend on its queries.
    """

    Options = MetaDeltaOptions
    trains_on: ClassVar[TrainsOn] = "batches"

    def __init__(self, backbone: Backbone, options: MetaDeltaOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        if isinstance(options.encoders, int):
            others = [(type(backbone), backbone.options)] * (options.encoders - 1)
        else:
            others = [resolve(BACKBONES, spec) for spec in options.encoders]
        encoders = [backbone, *(cls(specific, backbone.image_shape) for cls, specific in others)]
        self.backbones = nn.ModuleList(encoders)
        self.widths = [encoder.feature_dim for encoder in encoders]
        self.classifiers = nn.ModuleList(nn.Linear(w, n_base_classes) for w in self.widths)

    @classmethod
    def has_weights(cls, options: MetaDeltaOptions) -> bool:
        """Tell whether the encoders that it names have any; copies have what the backbone has."""
        named = options.encoders if isinstance(options.encoders, list) else []
        return any(resolve(BACKBONES, spec)[0].has_weights for spec in named)

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the classifiers of base classes are used in training only."""
        return False

    @classmethod
    def unsuited(cls, options: MetaDeltaOptions, backbone: BackboneOptions) -> str | None:
        """Refuse copies of one pretrained network, which are no ensemble."""
        copies = isinstance(options.encoders, int) and options.encoders > 1
        if copies and (backbone.weights is not None or backbone.frozen):
            return (
                f"its {options.encoders} encoders are networks with different random weights, but "
                "backbone.weights and backbone.frozen are about a single network; write "
                "'encoders: 1', or name the others"
            )
        return None

    def embed(self, images: Images) -> Features:
        """Compute unit-norm features of every encoder, side by side."""
        features = (at_least_float32(backbone(images)) for backbone in self.backbones)
        return torch.cat([normalize(part, dim=-1) for part in features], dim=-1)

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        check_support(*support.shape[1:3])
        pairs = zip(support.split(self.widths, -1), query.split(self.widths, -1), strict=True)
        return torch.stack([soft_prototype_probabilities(*pair) for pair in pairs]).mean(0).log()

    def training_loss(self, batch: LabelledBatch) -> Loss:
        """Sum the mean cross-entropy of all encoders: each is trained separately."""
        features = self.embed(batch.images).split(self.widths, dim=-1)
        losses = [
            cross_entropy(self.options.scale * classifier(part), batch.labels)
            for classifier, part in zip(self.classifiers, features, strict=True)
        ]
        return torch.stack(losses).sum()
