"""A hard report, with every section and names that no format likes; and a usual one."""

from dataclasses import replace
from functools import cache

import numpy as np
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build

SPECIAL = "".join(map(chr, range(33, 127)))
METHODS = (
    "PN",
    SPECIAL,
    "".join(["a-method-with-a-very-long-name", "_and_no_space" * 7]),
    "αβγ × 学習 → café naïve ß ø Ω ’n’ – 😀",
    "[1] * and <b>&amp;</b> 100 % --- ``off'' \\newline \\input{x} ^^41 ?` !`",
)
INFO = RunInfo(
    name=f"hard {SPECIAL} 😀",
    sweep_hash="abcdef0123456789",
    fingerprint="f00d" * 16,
    snapshot=("last", "train_loss", "val", "mixture(0.25)", "oracle"),
    hyperparameter=(
        "val",
        "cv",
        "oracle",
        "budgeted-oracle(2)",
        "budgeted-oracle(4, halving)",
        "budgeted-oracle(3, per-configuration)",
        "pareto",
    ),
    versions={"torch": "2.13.0", "a_package": "1.0+cu_130"},
    cautions=("A plan's caution with 100 % of _everything_, $5 & more: \\end{document} #1 ~ ^.",),
    metric="mixture(0.3)",
)


def runs() -> list[TrialHistory]:
    """Two configurations, two seeds and two folds of each method, 12 epochs."""
    generator = np.random.default_rng(0)
    trials: list[TrialHistory] = []
    for rank, method in enumerate(METHODS):
        for rate in ("0.1", "a_value&with$%#~^{} of-a-length-that-no-column-has"):
            for fold in (None, 0, 1):
                for seed in (0, 1):
                    base, val, novel = generator.uniform(0.4, 0.7, (3, 12)) + 0.02 * rank
                    made = trial(method, rate, seed, base=base, val=val, novel=novel, fold=fold)
                    more = {"train.way": 5, "learner.an_option_of_the_learner": [1, 2, 3]}
                    trials.append(replace(made, hyperparameters={**made.hyperparameters, **more}))
    return trials


@cache
def whole() -> Report:
    """A complete run."""
    return build(INFO, runs(), last=5, bootstrap=4)


@cache
def incomplete() -> Report:
    """A run with failed, missing and damaged trials."""
    trials = runs()
    reason = "CUDA error: a_very_long/path/" + "without-any-space/" * 8 + f" and {SPECIAL}"
    trials[1] = replace(trials[1], end=TrialEnd("failed", reason))
    trials[14] = replace(trials[14], end=None)
    trials[28] = replace(trials[28], damaged=("epochs/0003.npz",))
    return build(INFO, trials, bootstrap=0)


@cache
def usual() -> Report:
    """What a first run is like: two methods, three strategies and two seeds."""
    info = RunInfo("usual", "abcdef", "f00d", ("last", "val", "oracle"), ("val",))
    both = [replace(trial, method="RR") for trial in runs() if trial.method == SPECIAL]
    both += [trial for trial in runs() if trial.method == "PN"]
    return build(info, [trial for trial in both if trial.fold is None], bootstrap=20)
