"""``analyze mixtures`` and ``base-and-novel``: two methods that trade BaseGen for NovelGen."""

from pathlib import Path

import made
import numpy as np
import pytest
import tables

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS, EpochRecord, TaskScores
from fsl_sweep.orchestrator.statistics.sampling.mixtures import mixture_gap

MIXTURES = {"mixture": {"mixture": [0, 0.25, 0.5, 1]}}
OF_METHOD = {"PN": (0.8, 0.5), "RR": (0.7, 0.6)}
"""On base and on novel classes; equal at lambda 0.5. P_BN(0.25) is 10 points above the mixture."""


def trading(seeds: int):
    """As `made.protocol_record`, of methods that change places."""

    def record(planned, epoch: int, number: int) -> EpochRecord:
        rng = np.random.default_rng([epoch, number, int(planned.id, 16)])
        base, novel = OF_METHOD["PN" if number < 2 * seeds else "RR"]
        tasks, weight = planned.protocol.tasks, planned.protocol.mixture
        if weight is not None:
            novel = (1 - weight) * base + weight * novel + (0.1 if weight == 0.25 else 0)
        p = {"base": base, "val": 0.6 + epoch / 100, "novel": novel}
        counts = {"selection": tasks.selection_tasks, "report": tasks.report_tasks}
        scores = {
            (m, s): TaskScores(rng.binomial(75, p[m], counts[s]), np.full(counts[s], 75))
            for m in MEASURES
            for s in TASK_SETS
        }
        return EpochRecord(epoch, 1.0 / epoch, 0.1, scores, 2.0, 1.0)

    return record


def folder(path: Path, seeds: int, measure=MIXTURES, **options) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "protocol_record", trading(seeds))
        made.with_protocols(path, 200, measure, seeds=range(seeds), **options)
    return path


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("along") / "run", 3)


def run(capsys, *arguments) -> str:
    assert invoke(["analyze", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def said(capsys, *arguments) -> str:
    return " ".join(run(capsys, *arguments).split())


def test_the_numbers(three, plain) -> None:
    found = plain("analyze", "mixtures", three)
    assert found["lambdas"] == [0, 0.25, 0.5, 1]
    assert (found["base_classes"], found["novel_classes"], found["uniform_lambda"]) == (9, 9, 0.5)
    assert found["selection_repeated"]

    def tasks(protocol: str, measure: str) -> np.ndarray:
        return np.mean(tables.accuracies(three, protocol, "PN", measure), axis=0)

    pn = found["methods"][0]["at"]
    assert found["methods"][0]["method"] == "PN"
    assert pn[1]["mean"] == pytest.approx(tasks("mixture(0.25)", "novel").mean())
    base, novel = tasks("main", "base"), tasks("main", "novel")
    assert pn[1]["linear"] == pytest.approx(0.75 * base.mean() + 0.25 * novel.mean())
    # Of two methods at two lambdas inside.
    gap = mixture_gap(tasks("mixture(0.25)", "novel"), base, novel, 0.25, 1 - 0.05 / 4)
    assert pn[1]["gap"] == pytest.approx(vars(gap))
    assert pn[0]["gap"] is pn[3]["gap"] is None
    assert pn[0]["over"] == "95 % over seeds"
    (pair,) = found["pairs"]
    assert pair["crossings"] == pytest.approx([0.5], abs=0.1)
    verdicts = [[one["verdict"] for one in pair[claim]] for claim in ("snapshots", "methods")]
    for own in verdicts:
        assert (own[0], own[1], own[3]) == ("better", "better", "worse")


def test_the_text_and_the_figure(three, capsys, tmp_path, snapshot) -> None:
    assert run(capsys, "mixtures", three, "--plot", tmp_path / "l.svg") == snapshot
    assert "</svg>" in (tmp_path / "l.svg").read_text()


@pytest.mark.parametrize(("seeds", "over"), [(1, "95 % over tasks"), (2, "both seeds")])
def test_few_seeds_have_no_interval_over_seeds(tmp_path, plain, seeds, over, capsys) -> None:
    path = folder(tmp_path / "run", seeds)
    found = plain("analyze", "mixtures", path)
    point = found["methods"][1]["at"][0]
    assert point["over"] == over
    if seeds == 2:
        assert (point["low"], point["high"]) == (min(point["seeds"]), max(point["seeds"]))
    told = said(capsys, "mixtures", path)
    decided = "the methods, trained again: undecided everywhere"
    assert seeds == 2 or decided in told
    assert "these snapshots: decided for PN at each measured lambda from 0" in told
    told = said(capsys, "base-and-novel", path)
    lower = "snapshots of PN score higher than those of RR in BaseGen, and lower in NovelGen"
    assert f"{lower} (PN - RR: BaseGen +" in told
    assert seeds == 2 or "better than RR" not in told


def test_what_is_not_measured_is_said_with_the_command(tmp_path, capsys) -> None:
    path = folder(tmp_path / "run", 1, {})
    assert invoke(["analyze", "mixtures", str(path)]) == 2
    err = capsys.readouterr().err
    assert "fewer than two lambdas are measured" in err
    assert f"fsl-sweep measure {path} --lambda 0 --lambda 0.1 " in err
    assert err.endswith("--lambda 1 --snapshots chosen\n")


def test_tasks_of_writers_have_no_mixtures(tmp_path, refused) -> None:
    path = folder(tmp_path / "run", 1, {}, benchmark=made.OF_WRITERS)
    told = f"mixes base and novel classes, but tasks of {path} are made of writers."
    assert refused("analyze", "mixtures", path) == f"P_BN(lambda) {told}"


def test_where_only_chosen_snapshots_are_measured_nothing_is_decided_of_methods(
    tmp_path, capsys
) -> None:
    path = folder(tmp_path / "run", 3, {"m": {"mixture": [0, 1], "snapshots": "chosen"}})
    told = said(capsys, "mixtures", path)
    assert "(these snapshots: decided for PN at 0, RR at 1)." in told
    assert told.count("trained again") == told.count("Nothing can be said of the methods") == 1
    assert "Only 3 seeds." in told
    assert f"this measures all: fsl-sweep measure {path} m --snapshots all" in told
    assert "There is no lambda between 0 and 1" in told


def test_pairs(three, plain, capsys) -> None:
    (pair,) = plain("analyze", "base-and-novel", three)["pairs"]
    for claim in ("snapshots", "methods"):
        assert pair[claim]["verdict"] == "trades"
        assert pair[claim]["effects"] == pytest.approx([0.1, -0.1], abs=0.03)
    assert "Accuracies under last / " in run(capsys, "base-and-novel", three, "--snapshot", "last")
