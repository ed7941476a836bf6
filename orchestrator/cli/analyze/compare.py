"""``fsl-sweep compare``: two methods by closed, open and paired intervals, and over seeds."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.analyze.led import unit_of
from fsl_sweep.orchestrator.cli.options import (
    AsJson,
    Hyperparameter,
    ReportedUnder,
    Snapshot,
    only,
)
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.text.printed import columns, counted, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.records.measures import TrialHistory
    from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
    from fsl_sweep.orchestrator.replay.source import Source
    from fsl_sweep.orchestrator.report import RunInfo
    from fsl_sweep.orchestrator.report.completeness import Completeness
    from fsl_sweep.orchestrator.run import Run
    from fsl_sweep.orchestrator.selection.comparing.closed_and_open import OnTasks
    from fsl_sweep.orchestrator.selection.results import Selected, Strategy
    from fsl_sweep.orchestrator.statistics import Comparison
    from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import ThreeIntervals

_SHOWN_SEEDS = 4
"""Up to so many, the value of each seed is shown."""


@dataclass(frozen=True)
class _Compared:
    """What is said of a and b.

    Attributes:
        protocol: whose NovelGen the methods are compared by; None for a table.
        values: NovelGen of each seed, of a and of b.
        closed, without: where the snapshots were measured.
        snapshots: about those snapshots.
        methods: about training again.
    """

    protocol: "PlannedProtocol | None"
    strategy: "Strategy"
    a: str
    b: str
    values: tuple[tuple[float, ...], tuple[float, ...]]
    closed: "OnTasks | None"
    without: "OnTasks | None"
    snapshots: "ThreeIntervals"
    methods: "Comparison"


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a table.")],
    a: Annotated[str, typer.Argument(metavar="A", help="A method.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another method.")],
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    protocol: ReportedUnder = None,
    as_json: AsJson = False,
) -> int:
    """Compare two methods on novel tasks: their snapshots on these and other data, and over seeds.

    For val / val or the first strategy of the sweep file that is no oracle, unless another one is
    named. Closed and open tasks have the ways, shots and novel classes of the protocol. From the
    records only: torch and Ray are not needed.
    """
    from fsl_sweep.orchestrator.replay.merged import open_sources
    from fsl_sweep.orchestrator.run import Run

    source = open_sources([run.expanduser()])
    opened = Run(source)
    known = list(dict.fromkeys(trial.method for trial in opened.histories))
    for name in (a, b):
        if name not in known:
            raise UnknownName("method", name, known)
    if a == b:
        raise ConfigError("", "B", f"{b} cannot be compared with itself")
    info = opened.info(only(snapshot), only(hyperparameter), protocol=protocol)
    found = _compared(source, opened, (a, b), info)
    if as_json:
        say_json(_as_plain(found))
    else:
        say("\n".join(_lines(found, run)))
    return 0 if opened.complete else 1


def _compared(source: "Source", run: "Run", names: tuple[str, str], info: "RunInfo") -> _Compared:
    from fsl_sweep.orchestrator.report.completeness import completeness_of, whole_replicates
    from fsl_sweep.orchestrator.selection.comparing.closed_and_open import closed_and_open
    from fsl_sweep.orchestrator.selection.lead import lead_strategy, narrowed
    from fsl_sweep.orchestrator.selection.select import select

    # As in a report, what there is of the run is compared by its whole seeds.
    planned = run.histories_of(info)
    there, histories = completeness_of(planned, 0), whole_replicates(planned)
    selected = select(histories, info.snapshot, info.hyperparameter)
    strategy = lead_strategy(selected)
    for name in names:
        if strategy is None or not selected.cell(name, strategy):
            raise _incomplete(selected, there, name, info)
    assert strategy is not None
    selected = narrowed(selected, strategy)
    closed, without = closed_and_open(source, selected, names, info.protocol)
    if closed is None and without is None:
        raise RunFolderError(
            f"{names[0]} and {names[1]} have no common tasks: there must be two or more, recorded "
            "one by one and the same for all seeds."
        )
    a, b = (tuple(one.means["novel"] for one in selected.cell(name, strategy)) for name in names)
    return _Compared(
        protocol=info.protocol,
        strategy=strategy,
        a=names[0],
        b=names[1],
        values=(a, b),
        closed=closed,
        without=without,
        snapshots=_of_snapshots(closed, without, len(selected.methods)),
        methods=_so_far(_over_seeds(histories, selected, info, names), there, names),
    )


def _so_far(found: "Comparison", there: "Completeness", names: Sequence[str]) -> "Comparison":
    """Of a run that is not finished: which seeds are whole, and no verdict."""
    from fsl_sweep.orchestrator.selection.comparing.over_seeds import UNFINISHED

    if there.trained:
        return found
    torn = [there.named(name) for name in names if name != there.named(name)]
    only = f"only whole seeds of {' and '.join(torn)} take part" if torn else None
    return found.undecided(only, UNFINISHED)


def _incomplete(
    selected: "Selected", there: "Completeness", name: str, info: "RunInfo"
) -> RunFolderError:
    """Why a method has nothing to compare: of several reasons the first."""
    from fsl_sweep.orchestrator.report.wording import unmeasured

    every = (*there.problems, *selected.left_out)
    left_out = [one for one in every if one.method == name]
    if info.protocol is not None and any(one.epoch is not None for one in left_out):
        count = len(selected.unmeasured)
        return RunFolderError(unmeasured(count, info.protocol, info.as_planned))
    why = "nothing could be chosen"
    if left_out:
        first = left_out[0]
        trial = f", trial {first.trial}" if first.trial else ""
        why = f"seed {first.seed}{trial}: {first.reason}"
    return RunFolderError(f"{name} cannot be compared, because it is not complete ({why}).")


def _of_snapshots(
    closed: "OnTasks | None", without: "OnTasks | None", methods: int
) -> "ThreeIntervals":
    """The three intervals, with cautions about the tasks and about the other methods."""
    from fsl_sweep.orchestrator.selection.comparing.closed_and_open import reuse_of
    from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import three_intervals

    pairs = [None if one is None else (one.a, one.b) for one in (closed, without)]
    found = three_intervals(pairs[0], pairs[1], reuse=reuse_of(closed, without))
    more = list(found.cautions)
    if without is not None and not without.used_up:
        more.append("open: the tasks ended before the examples were used up; measure more of them")
    if methods > 2:
        more.append(f"intervals of snapshots are not corrected for all pairs of {methods} methods")
    return replace(found, cautions=tuple(more))


def _over_seeds(
    histories: "Sequence[TrialHistory]",
    selected: "Selected",
    info: "RunInfo",
    names: tuple[str, str],
) -> "Comparison":
    """The claim about methods, corrected for all pairs of the run as in its report."""
    from fsl_sweep.orchestrator.report.wording import measuring
    from fsl_sweep.orchestrator.selection.comparing.over_seeds import compare_over_seeds
    from fsl_sweep.orchestrator.selection.methods import summarise
    from fsl_sweep.orchestrator.selection.resample import resample

    order = {name: place for place, name in enumerate(names)}
    summaries = sorted(summarise(selected), key=lambda one: order.get(one.method, len(order)))
    tasks = all(len(one.novel_tasks) > 1 for one in selected.selections)
    drawn = resample(histories, selected, apart=info.apart) if tasks else None
    found = compare_over_seeds(summaries, drawn)
    result = next(one.result for one in found if (one.a, one.b) == names)
    planned, repeated = info.protocol, {one.method for one in drawn or ()}
    if planned is None or planned == info.chosen_by or repeated >= {*names}:
        return result
    why = f"nothing is decided before every snapshot is measured: {measuring(planned, every=True)}"
    return replace(result, caution="; ".join(filter(None, (result.caution, why))))


def _lines(found: _Compared, run: Path) -> list[str]:
    from fsl_sweep.orchestrator.report.wording import half_width

    own = found.snapshots
    rows = [("", found.a, found.b, f"{found.a} - {found.b}", "", "tasks")]
    for kind, pair in (("closed", own.closed), ("open", own.open)):
        if pair is not None:
            a, b = (f"{100 * one.mean:.2f} +- {half_width(one)}" for one in pair)
            rows.append((kind, a, b, "", own.says[kind], f"{pair[0].n:,}"))
    for kind, one in (("closed paired", own.closed_paired), ("paired", own.paired)):
        if one is not None:
            told = f"{own.paired_on} paired" if kind == "paired" else kind
            difference = f"{100 * one.mean:+.2f} +- {half_width(one)}"
            rows.append((told, "", "", difference, own.says[kind], f"{one.n:,}"))
    cautions = dict.fromkeys([*own.cautions, *filter(None, [found.methods.caution])])
    return [
        _answer(found),
        "",
        "These snapshots, NovelGen in % with 95 % intervals:",
        *columns(rows, indent="  "),
        *(f"  {line}" for line in _tasks(found)),
        f"  {own.verdict(found.a, found.b)}",
        *([] if found.without else _hint(found, run)),
        "",
        f"The methods, trained again{_under(found)}:",
        f"  {_of_methods(found)}",
        *(f"Caution: {caution}." for caution in cautions),
    ]


def _answer(found: _Compared) -> str:
    """Which method is better, trained again."""
    first, second = (found.a, found.b) if found.methods.effect.mean >= 0 else (found.b, found.a)
    over = f"over {_seeds(found)}, under {found.strategy}"
    if found.methods.verdict == "undecided":
        return f"{first} and {second}, trained again: undecided {over}."
    return f"{first} is better than {second}, trained again: decided {over}."


def _seeds(found: _Compared) -> str:
    return " and ".join(counted(count, "seed") for count in dict.fromkeys(map(len, found.values)))


def _tasks(found: _Compared) -> list[str]:
    """Whose tasks they are; nothing for those of a table."""
    both = ("Closed", found.closed), ("Open", found.without)
    return [
        f"{kind} tasks: '{one.name}', {one.planned.protocol.described}."
        for kind, one in both
        if one is not None and one.planned is not None
    ]


def _under(found: _Compared) -> str:
    """The protocol that the methods are compared under, where they are not a table's."""
    return f", on tasks of '{found.protocol.name}'" if found.protocol else ""


def _hint(found: _Compared, run: Path) -> list[str]:
    """How to measure open intervals, or why not.

    Nothing for a table or for other than the novel classes.
    """
    from fsl_sweep.orchestrator.records.protocol import MAIN

    if found.protocol is None or found.protocol.protocol.replaces_novel:
        return []
    if (unit := unit_of(run)) != "classes":
        return [f"  No open intervals: tasks of {unit} cannot be drawn without replacement."]
    own = found.protocol.protocol.episode
    episode = ["--way", own.way, "--shot", own.shot, "--query", own.query]
    like = ["open"] if found.protocol.name == MAIN else episode
    arguments = ["measure", run, *like, "--without-replacement", "--tasks", 1000000]
    command = shlex.join(map(str, ["fsl-sweep", *arguments, "--snapshots", "chosen"]))
    return [f"  Open intervals are not measured yet: `{command}`"]


def _of_methods(found: _Compared) -> str:
    """The verdict over seeds; the values in place of an interval where there are one or two."""
    of, fewest = found.methods.effect, min(map(len, found.values))
    told = f"{found.a} - {found.b} {100 * of.mean:+.2f}"
    if fewest > 2 and not isnan(of.low):
        told += f" ({100 * of.low:+.2f} to {100 * of.high:+.2f})"
    if fewest <= _SHOWN_SEEDS:
        each = (
            f"{name} {', '.join(f'{100 * value:.2f}' for value in values)}"
            for name, values in zip((found.a, found.b), found.values, strict=True)
        )
        told += f", by seed {'; '.join(each)}"
    return f"{found.methods.verdict}, {_seeds(found)}: {told}"


def _as_plain(found: _Compared) -> dict[str, Any]:
    own = found.snapshots
    return {
        "a": found.a,
        "b": found.b,
        "snapshot_selector": found.strategy.snapshot,
        "hyperparameter_selector": found.strategy.hyperparameter,
        "protocol": found.protocol and found.protocol.name,
        "snapshots": {
            **asdict(own),
            "closed_protocol": found.closed and found.closed.name,
            "open_protocol": found.without and found.without.name,
            "agree": own.agree,
            "inverted": own.inverted,
            "verdict": own.verdict(found.a, found.b),
        },
        "methods": {**found.methods.as_dict(), "values": found.values},
    }
