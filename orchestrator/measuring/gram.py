"""Answers from inner products: millions of tasks on few images in a minute.

A query q is compared with the mean c of a class's support s_1, ..., s_k. What decides is
q.c - |c|^2 / 2 in Euclidean distance and q.c / |c| by cosine, where q.c is the mean of the q.s_j
and |c|^2 that of the s_i.s_j. Ridge regression answers q S' A, where A depends on the s_i.s_j only.
So once the Gram matrix of the images is known, a task costs one number for each pair of a query and
a support image, and no feature is gathered.
"""

from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.heads.ridge import one_hot_targets, solve
from fsl_sweep.learners.methods.meta_baseline import MetaBaseline
from fsl_sweep.learners.methods.metaoptnet import Ridge
from fsl_sweep.learners.methods.ncc import Ncc
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.learners.methods.supervised import Supervised
from fsl_sweep.orchestrator.measuring.features import PoolFeatures
from fsl_sweep.orchestrator.measuring.scoring import check_numbers, check_scorable
from fsl_sweep.orchestrator.records.measures import TaskScores

Rule = Literal["euclidean", "cosine"] | float
"""How the nearest class mean is found, or the lambda of ridge regression."""

_QUERIES_AT_ONCE = 2**15
_PRODUCTS_AT_MOST = 2**27  # 0.5 GiB; those of two snapshots and two sets are held at once
_TINY = 1e-12  # of `torch.nn.functional.normalize`


def rule_of(learner: EmbeddingLearner[Any]) -> Rule | None:
    """Return how its head answers from inner products; None if it needs more than these."""
    if isinstance(learner, Supervised):
        return "euclidean"
    if isinstance(learner, Ncc):
        return "cosine"
    # A trained factor that is not positive turns the order of the classes round.
    if isinstance(learner, Protonet) and learner.scale > 0:
        return learner.options.metric
    if isinstance(learner, MetaBaseline) and learner.temperature > 0:
        return "cosine"
    # Without lambda a kernel may be singular but for its rounding errors.
    if isinstance(learner, Ridge) and learner.scale > 0 and learner.options.lam > 0:
        return learner.options.lam
    return None


def is_cheaper(images: int, tasks: int, shape: EpisodeShape) -> bool:
    """Return whether a Gram matrix of so many images costs less than gathering features.

    Between 2 and 90 inner products for each image that a task fetches the balance turns, at 64
    features (``benchmarks/novel_sets.py``); 20 is taken.
    """
    fetched = tasks * shape.way * shape.per_class
    return images**2 <= min(_PRODUCTS_AT_MOST, 20 * fetched)


class GramMatrix:
    """The inner products of the embedded images at these pool indices, for one learner's rule.

    Raises:
        TrialFailure: as `check_numbers`.
    """

    def __init__(self, pool: PoolFeatures, indices: Int[np.ndarray, " n"], rule: Rule) -> None:
        self.rule, self.size = rule, len(indices)
        with torch.inference_mode():
            rows = torch.from_numpy(pool.row_of[indices]).to(pool.features.device)
            features = pool.features[rows]
            check_numbers(features, "images")
            if rule == "euclidean":  # distances do not change, and their rounding error is less
                features = features - features.mean(dim=0)
            self.products = (features @ features.T).flatten()  # row by row
        self.row_of = np.full(len(pool.row_of), -1, np.int32)
        self.row_of[indices] = np.arange(len(indices))

    def score(self, episodes: Episodes) -> TaskScores:
        """Answer episodes of one shape, without padding; all of them are of these images.

        They are those of the learner's head, but where two classes are equal to the last bits; by
        the cosine of features whose mean is large against their spread, these are fewer.

        Raises:
            BadData: as `check_scorable`.
            TrialFailure: as `check_numbers`.
        """
        check_scorable(episodes)
        tasks, way, each = episodes.query.shape
        size = max(1, _QUERIES_AT_ONCE // (way * each))
        with torch.inference_mode():
            parts = [self._correct(episodes[i : i + size]) for i in range(0, tasks, size)]
        return TaskScores(torch.cat(parts).cpu().numpy(), np.full(tasks, way * each, np.int64))

    def _correct(self, episodes: Episodes) -> Int[Tensor, " tasks"]:
        """Count the queries of each task that are answered with their own class."""
        support, query = (self._rows(part) for part in (episodes.support, episodes.query))
        way, each = query.shape[1:]
        if isinstance(self.rule, float):
            answer = self._regressed(support, query, self.rule)
        else:
            answer = self._nearest(support, query)
        right = torch.arange(way, device=answer.device).repeat_interleave(each)
        return (answer == right).sum(dim=1)

    def _regressed(self, support: Tensor, query: Tensor, lam: float) -> Int[Tensor, "tasks m"]:
        """Return the classes that ridge regression answers with."""
        (tasks, way, shot), examples = support.shape, support.flatten(1)
        every = torch.cat([examples, query.flatten(1)], dim=1) * self.size
        products = self._at(every[:, :, None] + examples[:, None])
        kernel, queries = products.split([way * shot, query[0].numel()], dim=1)
        targets = one_hot_targets(way, shot, like=kernel).expand(tasks, -1, -1)
        logits = queries @ solve(kernel, targets, lam).value
        check_numbers(logits, "tasks")
        return logits.argmax(dim=-1)

    def _nearest(self, support: Tensor, query: Tensor) -> Int[Tensor, "tasks m"]:
        """Return the classes whose centroids are nearest."""
        queries = query.flatten(1)
        best = self._closeness(support[:, 0], queries)
        answer = torch.zeros_like(queries)
        for number in range(1, query.shape[1]):  # few long vectors are faster than many short ones
            close = self._closeness(support[:, number], queries)
            answer.masked_fill_(close > best, number)
            best = torch.maximum(best, close)
        return answer

    def _rows(self, indices: np.ndarray) -> Int[Tensor, "tasks way each"]:
        return torch.from_numpy(self.row_of[indices]).to(self.products.device)

    def _closeness(self, support: Tensor, query: Tensor) -> Float[Tensor, "tasks m"]:
        """Compare each query ``[tasks, m]`` with the mean of one class's support ``[tasks, k]``."""
        shot = support.shape[1]
        starts = support * self.size
        total = self._at(starts[:, :1] + query)
        for number in range(1, shot):
            total += self._at(starts[:, number, None] + query)
        square = self._at(starts[:, :, None] + support[:, None]).mean(dim=(1, 2))[:, None]
        if self.rule == "euclidean":
            return total / shot - square / 2
        return total / shot / square.clamp_min(0).sqrt().clamp_min(_TINY)

    def _at(self, places: Tensor) -> Tensor:
        return self.products.index_select(0, places.flatten()).view(places.shape)
