"""What a searcher is told of a configuration."""

import numpy as np
import pytest

from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.selection.stopping.curves import best_score
from tests.orchestrator.trials import trial

FIRST, SECOND, FOLD = [0.1, 0.5, 0.4], [0.3, 0.2, 0.6], [0.6, 0.0, 0.0]
DIVERGED, SPENT = TrialEnd("diverged", "NaN"), TrialEnd("budget", "time")


def of(val, seed=0, **options):
    given = {"base": [0.0] * len(val), "val": val, "novel": [1.0] * len(val), **options}
    return trial("M", "x", seed, **given)


@pytest.mark.parametrize(
    ("trials", "score"),
    [
        ([of(FIRST)], 0.5),
        # By epoch (0.2, 0.35, 0.5): one epoch for all, not the mean of 0.5 and 0.6.
        ([of(FIRST), of(SECOND, 1)], 0.5),
        # The seed with its fold (0.35, 0.25, 0.2).
        ([of(FIRST), of(FOLD, fold=0)], 0.35),
        ([of(FIRST), of(SECOND[:2], 1, end=DIVERGED)], None),
        ([of(FIRST), of([], 1, end=SPENT)], None),
        # 0.3 stands for the epochs that the budget left out: (0.2, 0.4, 0.35).
        ([of(FIRST), of([0.3], 1, end=SPENT)], 0.4),
        ([of([0.3], end=SPENT), of([0.1, 0.2], 1, end=SPENT)], 0.25),
        # One that another method of the sweep trains further counts as far as all go.
        ([of(FIRST), of([0.3], 1)], 0.2),
    ],
)
def test_the_best_mean_over_seeds_and_folds(trials, score):
    assert best_score(trials, "val") == score
    assert best_score(trials[::-1], "val") == score


def test_a_training_loss_is_negated():
    trials = [of(FIRST, loss=[3.0, 1.0, 2.0]), of(FIRST, 1, loss=[1.0, 2.0, 0.5])]
    assert best_score(trials, "train_loss") == -1.25
    assert best_score([of(FIRST, loss=[np.nan] * 3)], "train_loss") is None
