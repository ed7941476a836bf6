"""PT-MAP: power transform, then class centres found together with the queries' classes.

Hu, Gripon, Pateux, "Leveraging the Feature Distribution in Transfer-based Few-Shot Learning" (arXiv
2006.03806), equation 1 and algorithm 1; the second place of "Advances in MetaDL: AAAI 2021
challenge and workshop", section 4.4. Hyperparameters are those of the authors' released code. Its
reduction of the features by a QR decomposition is a rotation, and is left out.
"""

from typing import Annotated, final

import torch
from jaxtyping import Float
from pydantic import Field, NonNegativeInt, PositiveFloat
from torch import Tensor
from torch.nn.functional import normalize

from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.heads.solution import Solution
from fsl_sweep.learners.heads.transport import transport
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Query, Support

_EPSILON = 1e-6


class PtMapOptions(PretrainedOptions):
    """Options of `PtMap`, in addition to those of `PretrainedOptions`.

    Attributes:
        power: exponent beta of the transform.
        lam: lambda of the transport: the larger, the harder the assignment.
        rate: alpha, how far a centre moves towards its new estimate.
        rounds: moves of the centres.
    """

    power: PositiveFloat = 0.5
    lam: PositiveFloat = 10.0
    rate: Annotated[float, Field(gt=0, le=1)] = 0.2
    rounds: NonNegativeInt = 20


@final
class PtMap(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Logits are logarithms of the transport plan from a task's queries to its class centres.

    It is transductive: it sees all queries of a task together, and assumes that each class is
    equally frequent among them. A task that cannot be solved has NaN logits.
    """

    Options = PtMapOptions
    options: PtMapOptions

    @torch.no_grad()
    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task; not differentiable."""
        check_support(*support.shape[1:3])
        with full_precision(query.device):
            tasks, way, shot = support.shape[:3]
            examples = prepared(support.flatten(1, 2), self.options.power).view(
                tasks, way, shot, -1
            )
            queries = prepared(query, self.options.power)
            centres, support_sums = examples.mean(dim=2), examples.sum(dim=2)
            plan, potentials = self._transport(queries, centres, None)
            for _ in range(self.options.rounds):
                shares = plan.value
                sums = support_sums + shares.transpose(-1, -2) @ queries
                estimate = sums / (shot + shares.sum(dim=1))[..., None]
                centres = centres + self.options.rate * (estimate - centres)
                plan, potentials = self._transport(queries, centres, potentials)
            return plan.value.clamp_min(torch.finfo(queries.dtype).tiny).log()

    def _transport(
        self,
        queries: Query,
        centres: Float[Tensor, "task way d"],
        start: Float[Tensor, "task way"] | None,
    ) -> tuple[Solution, Float[Tensor, "task way"]]:
        """Share 1 a query among the classes, of which all get the same amount."""
        # Squared distances, less the queries' squared lengths: what all costs of a row have in
        # common does not change its plan.
        cost = (centres.square().sum(dim=-1, keepdim=True) - 2 * centres @ queries.mT).mT
        rows, columns = torch.ones_like(cost[:, :, 0]), torch.ones_like(cost[:, 0])
        return transport(
            cost, rows, columns * cost.shape[1] / cost.shape[2], self.options.lam, start
        )


def prepared(features: Query, power: float) -> Query:
    """Transform features by a power to unit norm, less their mean, to unit norm again.

    The transform makes the skewed distribution of features after a ReLU more like a Gaussian. A
    negative feature, for which the paper does not define it, keeps its sign.
    """
    features = at_least_float32(features)
    grown = (features.abs() + _EPSILON).pow(power)
    unit = normalize(torch.where(features < 0, -grown, grown), dim=-1)
    return normalize(unit - unit.mean(dim=1, keepdim=True), dim=-1)
