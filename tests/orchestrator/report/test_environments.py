"""What a report says of trials that were not all trained with the same."""

from dataclasses import replace

import trials

from fsl_sweep.orchestrator.report.environments import Environments

HERE = {"code": "0123456789ab", "torch": "2.13.0", "threads": "1", "device": "a CPU"}


def history(method, seed, *environments, fold=None):
    plain = trials.trial(method, "x", seed, base=[0.5], val=[0.5], novel=[0.5], fold=fold)
    return replace(plain, environments=environments)


def test_what_differs_and_in_how_many_trials(snapshot) -> None:
    there = {**HERE, "threads": "2", "a-plug-in": "1.0"}
    alike = [history("PN", 0, HERE), history("PN", 1, HERE), history("old", 2)]
    shared = replace(alike[0], method="of the same trial")
    moved = [history("RR", 0, HERE, there, {**there, "device": "a GPU"}), history("RR", 1, there)]
    fold = history("RR", 2, HERE, {**HERE, "torch": "2.14.0"}, fold=3)
    said = [Environments.of([*alike, shared, *more]) for more in ([], moved[1:], [*moved, fold])]
    assert [(one.described, one.caution) for one in said] == snapshot
    assert Environments.of([history("old", 0)]) == Environments()
