"""``fsl-sweep analyze pairs``: methods as pairs of BaseGen and NovelGen."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.cli.analyze.led import led
from fsl_sweep.orchestrator.cli.options import AsJson, Hyperparameter, Snapshot
from fsl_sweep.orchestrator.text.printed import say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.selection.comparing.base_and_novel import BaseAndNovel
    from fsl_sweep.orchestrator.statistics.joint import Joint


def pairs(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a table.")],
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    as_json: AsJson = False,
) -> int:
    """Say which methods are better in both BaseGen and NovelGen, and which trade them.

    For val / val or the first strategy that is no oracle, unless another one is named. From the
    records only: torch and Ray are not needed.
    """
    from fsl_sweep.orchestrator.replay.lacking import check_reported
    from fsl_sweep.orchestrator.selection.comparing.base_and_novel import compare_base_and_novel
    from fsl_sweep.orchestrator.selection.methods import summarise

    own = led(run, snapshot, hyperparameter)
    if own.source.protocol() is None:
        check_reported(own.source.places, own.run.histories, "mixture(0.5)")
    found, cells = compare_base_and_novel(own.run.histories, own.selected), summarise(own.selected)
    plain = {
        "snapshot_selector": own.strategy.snapshot,
        "hyperparameter_selector": own.strategy.hyperparameter,
        "methods": [
            {"method": m.method, "base": m.base.mean, "novel": m.novel.mean} for m in cells
        ],
        "pairs": [asdict(one) for one in found],
    }
    if as_json:
        say_json(plain)
        return 0 if own.run.complete else 1
    tuples = (f"{m.method} ({100 * m.base.mean:.2f}, {100 * m.novel.mean:.2f})" for m in cells)
    last = f"{own.strategy}, BaseGen and NovelGen in %: {', '.join(tuples)}"
    say("\n".join([*_lines(found), last]))
    return 0 if own.run.complete else 1


def _lines(found: Sequence["BaseAndNovel"]) -> Iterator[str]:
    if not found:
        yield "No two methods have common tasks, recorded one by one."
        return
    for name, claims in (
        ("These snapshots", [(one, one.snapshots) for one in found]),
        ("The methods, trained again", [(one, one.methods) for one in found]),
    ):
        yield f"{name}:"
        yield from (f"  {_told(one, joint)}" for one, joint in claims)
    for caution in dict.fromkeys(caution for one in found for caution in one.cautions):
        yield f"Caution: {caution}."


def _told(one: "BaseAndNovel", joint: "Joint") -> str:
    from fsl_sweep.orchestrator.report.wording import p_value

    base, novel = joint.effects
    said = {
        "better": f"{one.a} is better than {one.b} in both",
        "worse": f"{one.b} is better than {one.a} in both",
        "trades": f"{one.a} is {'better' if base > 0 else 'worse'} than {one.b} in BaseGen, and "
        f"{'better' if novel > 0 else 'worse'} in NovelGen",
        "undecided": f"{one.a} and {one.b}: undecided",
    }[joint.verdict]
    p = "" if isnan(joint.p_adjusted) else f", p {p_value(joint.p_adjusted)}"
    apart = f"BaseGen {100 * base:+.2f}, NovelGen {100 * novel:+.2f}"
    return f"{said} ({one.a} - {one.b}: {apart} points{p})"
