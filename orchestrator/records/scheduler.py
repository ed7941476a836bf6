"""Early stopping as a sweep file asks for it: which rule, by which measure, and where."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from fsl_sweep.orchestrator.records.model import Count, Epochs, Model
from fsl_sweep.orchestrator.records.paper_names import is_test_measure, measure_name

NOT_BY_NOVEL = (
    "novel classes are the test: what is trained on must not depend on them. Write val, base or "
    "train_loss"
)
_REFUSED = {
    "asha": "it stops trials in the order in which they arrive, seeds of one configuration apart, "
    "so that no run can be repeated; 'halving' stops configurations, all seeds together",
    "pbt": "it copies weights from one trial to another, so that a trial is no function of its "
    "specification",
}
_ALSO = {"hyperband": "asha", "bohb": "asha", "async_hyperband": "asha", "pb2": "pbt"}


def _not_the_test(metric: Any) -> Any:
    if not isinstance(metric, str):
        return metric
    if is_test_measure(metric) or metric.lower() == "oracle":
        raise ValueError(NOT_BY_NOVEL)
    return measure_name(metric)


StoppingMetric = Annotated[Literal["base", "val", "train_loss"], BeforeValidator(_not_the_test)]
"""What training may depend on, by any of its names; never the test."""


class Scheduler(Model):
    """Early stopping of configurations within their method, at rungs.

    The seeds and class folds of a configuration go on or stop together, by their mean of the
    metric on the selection tasks of the main protocol.

    Attributes:
        name: ``halving``: the best of every ``factor`` go on; ``median``: those not below the
            median of the others; ``race``: those not significantly worse than the best over seeds.
        metric: what configurations are compared by.
        grace: the epoch of the first rung.
        factor: by how much each rung lies later than the one before it.
        finalists: how many configurations of each method are trained to the end, at least.
    """

    name: Literal["halving", "median", "race"]
    metric: StoppingMetric = "val"
    grace: Epochs = 3
    factor: Annotated[int, Field(ge=2, le=1000)] = 3
    finalists: Count = 2

    @field_validator("name", mode="before")
    @classmethod
    def _known(cls, name: Any) -> Any:
        plain = str(name).lower().replace("-", "_")
        if reason := _REFUSED.get(_ALSO.get(plain, plain)):
            raise ValueError(f"'{name}' is not offered: {reason}")
        return name

    def rungs(self, epochs: Sequence[int]) -> Iterator[int]:
        """Yield the rungs among recorded epochs, ascending; the last epoch is none.

        They are the first recorded epochs from ``grace``, ``grace x factor``,
        ``grace x factor^2``, ... on.
        """
        target, last = self.grace, 0
        for epoch in epochs[:-1]:
            if epoch >= target and epoch > last:
                yield epoch
                last = epoch
                while target <= epoch:
                    target *= self.factor
