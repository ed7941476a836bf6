"""Of many methods only the pairs with the best are written, with the numbers that all have."""

import json
from functools import cache

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.report import Report, RunInfo, build, to_json, to_markdown
from fsl_sweep.orchestrator.report.content import ALL_PAIRS

INFO = RunInfo("made", "a" * 16, "f00d", ("last", "val"), ("val",))
LISTS = ("differences", "comparisons")


@cache
def report(methods: int, every_pair: bool = False) -> Report:
    """Each method has two epochs, of which another one is the best by ValGen."""
    rng = np.random.default_rng(0)
    trials = [
        trial(
            f"m{m}",
            "x",
            seed,
            base=[0.7, 0.7],
            val=[0.6, 0.5],
            novel=rng.uniform(0.4, 0.6, 2).tolist(),
        )
        for m in range(methods)
        for seed in range(2)
    ]
    return build(INFO, trials, bootstrap=10, every_pair=every_pair)


def test_pairs_with_the_best_keep_the_numbers_of_all() -> None:
    methods = ALL_PAIRS + 1
    every, few = (json.loads(to_json(report(methods, each))) for each in (True, False))
    left = few.pop("pairs_left_out")
    keys = ("snapshot_selector", "hyperparameter_selector")
    best = {tuple(r[k] for k in keys): r["methods"][0] for r in every["run"]["rankings"]}
    assert len({*best.values()}) > 1, "the strategies have another best each"
    for name in LISTS:
        pairs = every.pop(name)
        assert len(pairs) == len(best) * methods * (methods - 1) // 2
        wanted = [p for p in pairs if best[tuple(p[k] for k in keys)] in (p["a"], p["b"])]
        assert few.pop(name) == wanted
        assert left[name] == len(pairs) - len(wanted) > 0
    assert few == every
    assert "--pairs all" in left["all"]


def test_of_few_methods_all_are_written() -> None:
    every, few = (report(ALL_PAIRS, each) for each in (True, False))
    assert to_json(every) == to_json(few)
    assert "pairs_left_out" not in json.loads(to_json(few))


def test_what_people_read_says_what_is_left_out() -> None:
    every, few = (to_markdown(report(ALL_PAIRS + 1, each)) for each in (True, False))
    more = 2 * ALL_PAIRS * (ALL_PAIRS - 1) // 2
    text = (
        f"Of {ALL_PAIRS + 1} methods these are the pairs with the best method of their strategy. "
        rf"\`--pairs all\` shows {more:,} more; all were corrected together."
    )
    assert few.count(text) == 2
    assert "--pairs" not in every


def test_the_command(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["method,configuration,seed,epoch,measure,accuracy"]
    for method in range(ALL_PAIRS + 1):
        for seed, measure in ((s, m) for s in range(2) for m in ("val", "novel")):
            rows.append(f"m{method},x,{seed},1,{measure},{0.5 + 0.01 * method + 0.003 * seed}")
    (tmp_path / "logs.csv").write_text("\n".join(rows))
    for pairs, written in (("best", ALL_PAIRS), ("all", ALL_PAIRS * (ALL_PAIRS + 1) // 2)):
        command = ["report", str(tmp_path / "logs.csv"), "--format", "json", "--pairs", pairs]
        assert invoke(command) == 0
        plain = json.loads(capsys.readouterr().out)
        assert len(plain["differences"]) == written * len(plain["run"]["rankings"])
        assert ("pairs_left_out" in plain) == (pairs == "best")
