"""``fsl-sweep plan-next``: what would decide which method is better, and what it costs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.options import (
    AsJson,
    ChooseBy,
    Hyperparameter,
    Metric,
    ReportedUnder,
    Runs,
    Snapshot,
    only,
)
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.text.printed import columns, say, say_json

if TYPE_CHECKING:
    import numpy as np

    from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
    from fsl_sweep.orchestrator.report import RunInfo
    from fsl_sweep.orchestrator.run import Run
    from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis, SampleSize
    from fsl_sweep.orchestrator.selection.results import Selected


def plan_next(
    runs: Runs,
    effect: Annotated[
        float | None,
        typer.Option(help="Difference to find, such as 0.01 for 1 point. [the observed ones]"),
    ] = None,
    power: Annotated[float, typer.Option(help="Chance to find it.")] = 0.8,
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    metric: Metric = None,
    protocol: ReportedUnder = None,
    choose_by: ChooseBy = None,
    as_json: AsJson = False,
) -> int:
    """Say how many more seeds or tasks would tell methods apart, and what they cost.

    For val / val or the first strategy of the sweep file that is no oracle, unless another one is
    named. From the records only: torch and Ray are not needed.
    """
    from fsl_sweep.orchestrator.run import load_run

    if effect is not None and not 0 < effect < 1:
        problem = f"{effect} is no difference of accuracies; 0.01 is 1 point"
        raise ConfigError("", "--effect", problem)
    if not 0 < power < 1:
        raise ConfigError("", "--power", f"{power} is no chance; write 0.8 for 80 %")
    run = load_run(runs)
    selectors = only(snapshot), only(hyperparameter)
    info = run.info(*selectors, metric, protocol=protocol, choose_by=choose_by)
    needs = _needs(run, info, effect, power)
    if as_json:
        say_json([_as_plain(one) for one in needs])
    else:
        say("\n".join(_lines(needs, info, effect)))
        if not run.complete:
            say("The run is incomplete: seeds that it still plans count as more seeds.")
    return 0 if run.complete else 1


def _needs(
    run: "Run", info: "RunInfo", effect: float | None, power: float
) -> "Sequence[PowerAnalysis]":
    from fsl_sweep.orchestrator.report.completeness import whole_replicates
    from fsl_sweep.orchestrator.selection.comparing.power import plan_next as planned
    from fsl_sweep.orchestrator.selection.resample import resample
    from fsl_sweep.orchestrator.selection.select import select
    from fsl_sweep.orchestrator.selectors.mixture import base_weight

    histories = whole_replicates(run.histories_of(info))
    weight = base_weight(info.metric)
    selected = _first(select(histories, info.snapshot, info.hyperparameter, weight), info)
    if any(len(one.novel_tasks) < 2 for one in selected.selections):
        raise RunFolderError(
            "Without the scores of two tasks or more it is not known what more tasks or seeds "
            "would change. Give a run folder, or a table with one row a task."
        )
    drawn = resample(histories, selected, apart=info.apart)
    repeated = {one.method for one in drawn} >= {one.method for one in selected.selections}
    if info.protocol is not None and info.protocol != info.chosen_by and not repeated:
        raise _unmeasured(info.protocol)
    found = planned(
        histories,
        selected,
        effect,
        resampled=drawn,
        classes=_classes(run, info),
        power=power,
        timed=info.timed,
        complete=run.complete,
    )
    if not found:
        raise RunFolderError(
            "No two methods can be compared: they were measured on different tasks, or one answers "
            "among all base classes."
        )
    if all(one.now.effect.n < 2 for one in found):
        finish = "Finish the run first: `fsl-sweep status RUN` says what is missing."
        add = "Add a second one to the sweep file, and run it again."
        few = "There is one seed" if run.complete else "A method has one whole seed"
        advice = add if run.complete else finish
        raise RunFolderError(f"{few}, which tells nothing about others. {advice}")
    return found


def _unmeasured(protocol: "PlannedProtocol") -> RunFolderError:
    from fsl_sweep.orchestrator.report.wording import measuring

    how = measuring(protocol, every=True)
    return RunFolderError(f"Nothing can be planned before every snapshot is measured: {how}")


def _first(selected: "Selected", info: "RunInfo") -> "Selected":
    """What the leading strategy selected for two methods or more."""
    from fsl_sweep.orchestrator.report.wording import unmeasured
    from fsl_sweep.orchestrator.selection.lead import lead_strategy, narrowed

    lead = lead_strategy(selected)
    if lead is None or sum(bool(selected.cell(m, lead)) for m in selected.methods) < 2:
        if selected.unmeasured and info.protocol is not None:
            count = len(selected.unmeasured)
            raise RunFolderError(unmeasured(count, info.protocol, info.as_planned))
        raise RunFolderError(
            "Fewer than two methods have a seed with all of its trials done: none to compare."
        )
    return narrowed(selected, lead)


def _classes(run: "Run", info: "RunInfo") -> "np.ndarray | None":
    """The classes of the novel report tasks, where they were recorded."""
    try:
        return run.class_tuples(info.protocol and info.protocol.name).get(("novel", "report"))
    except RunFolderError:
        return None


_HEAD = ("methods", "difference now (95 %)", "by more", "have", "needed", "time")


def _lines(needs: "Sequence[PowerAnalysis]", info: "RunInfo", effect: float | None) -> list[str]:
    """What would decide the best two, the table, cheapest first, and what to be careful about."""
    from fsl_sweep.orchestrator.report.answer.deciding import would_decide
    from fsl_sweep.orchestrator.selection.comparing.power import cheapest

    rows = [_HEAD, *(_row(one, way) for one, way in cheapest(needs))]
    rows += [(*_now(one), "decided", "", "", "") for one in needs if not one.ways]
    cautions = dict.fromkeys(one.caution for one in needs if one.caution)
    first = needs[0]
    shown = "the differences now" if effect is None else f"a difference of {100 * effect:.2f}"
    time = "on one device"
    if info.protocol is not None and not info.timed:
        time += f", without measuring under '{info.protocol.name}', whose time is not recorded"
    decided = f"What there is tells {first.a} and {first.b} apart."
    return [
        would_decide(first) if first.ways else decided,
        "",
        f"Under {first.strategy}, in points, to show {shown} with a chance of "
        f"{100 * first.power:g} % each; time {time}:",
        "",
        *columns(rows),
        *(f"Caution: {caution}." for caution in cautions),
    ]


def _row(one: "PowerAnalysis", way: "SampleSize") -> tuple[str, ...]:
    from fsl_sweep.orchestrator.report.wording import duration

    have, other = way.have
    drawn = " drawn" if way.what == "classes" else ""  # of those that there are
    return (
        *_now(one),
        way.what,
        f"{have:,}{drawn}" if have == other else f"{have:,} and {other:,}",
        "no number" if way.required is None else f"{way.required:,}",
        "-" if way.seconds is None else duration(way.seconds),
    )


def _now(one: "PowerAnalysis") -> tuple[str, str]:
    now = one.now.effect
    shown = f"{100 * now.mean:+.2f} ({100 * now.low:+.2f} to {100 * now.high:+.2f})"
    return f"{one.a} - {one.b}", shown


def _as_plain(one: "PowerAnalysis") -> dict[str, Any]:
    return {
        "a": one.a,
        "b": one.b,
        "snapshot_selector": one.strategy.snapshot,
        "hyperparameter_selector": one.strategy.hyperparameter,
        "leading": one.leading,
        "effect": one.effect,
        "power": one.power,
        "now": one.now.as_dict(),
        "components": asdict(one.components),
        "ways": [
            {
                "what": way.what,
                "have": way.have,
                "needed": way.required,
                "seconds": way.seconds,
                "more": way.more,
            }
            for way in one.ways
        ],
    }
