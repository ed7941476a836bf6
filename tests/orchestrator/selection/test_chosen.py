"""The snapshots that strategies choose are among those that each trial had to keep."""

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.selection.chosen import choosable_epochs, chosen_snapshots

SELECTORS = Selectors(
    snapshot=["last", "base", "val"], hyperparameter=["base", "val", "pareto", "oracle"]
)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_trial_keeps_is_what_any_strategy_may_choose_of_it(seed):
    rng = np.random.default_rng(seed)
    histories = []
    for number in range(4):
        base, val, novel = rng.random((3, 8))
        one = trial("PN", f"c{number}", base=base, val=val, novel=novel)
        histories.append(one)
        best = {int(np.argmax(scores)) + 1 for scores in (base, val, novel)}
        assert choosable_epochs(one, SELECTORS) == best | {8}
    chosen = chosen_snapshots(histories, SELECTORS)
    assert chosen
    for one in histories:
        assert {e for t, e in chosen if t == one.trial} <= choosable_epochs(one, SELECTORS)


def test_nothing_is_said_where_folds_decide_or_a_trial_takes_no_part():
    scores = {"base": [0.1, 0.2], "val": [0.1, 0.2], "novel": [0.2, 0.1]}
    folds = Selectors(snapshot=["val", "cv-epoch"], hyperparameter=["val"])
    assert choosable_epochs(trial("PN", "a", **scores), folds) is None
    failed = trial("PN", "a", **scores, end=TrialEnd("failed", "NaN"))
    assert choosable_epochs(failed, SELECTORS) is None
